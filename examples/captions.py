"""Learns to caption images from tar shards that hold key.jpg and key.txt.

    python examples/captions.py                    # makes tiny shards and learns them
    python examples/captions.py 'data/cc3m-{0000..0331}.tar' --batch-size 64

Captions differ in length. A collate function gets the samples of a batch and makes tensors of them, here with a toy
tokenizer; bucket_by="txt" brings captions of similar length together, so that little of a batch is padding.
(Tokens that are stored as key.tokens.npy need no function: collate="pad" delivers tokens and their lengths.)
"""

import argparse
import time

import torch

import penstock as ps
import tiny_data

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("path", nargs="?", help="shards of your own")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--size", type=int, default=32, help="pixels a side that the network sees")
args = parser.parse_args()

source = ps.Tar(args.path or tiny_data.write_captions(tiny_data.scratch_folder("captions")))
print(source)

# Each word is a token. Token 0 is padding, 1 begins a caption, 2 ends it.
words = {"<fill>": 0, "<begin>": 1, "<end>": 2}
with ps.Loader(source, 256, fields=["txt"]) as texts:
    for captions, in texts:
        for word in " ".join(captions).split():
            words.setdefault(word, len(words))


def to_batch(samples):
    """Makes a batch of images and one of tokens, padded to the longest caption, from [(image, caption), ...]."""
    images, captions = zip(*samples)
    tokens = [torch.tensor([1, *(words[word] for word in caption.split()), 2]) for caption in captions]
    return torch.stack(images), torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True)


loader = ps.Loader(source, args.batch_size, fields=["jpg", "txt"], shuffle=True, output="torch",
                   transform=[ps.Resize((args.size, args.size)), ps.Normalize(0.45, 0.25)],
                   collate=to_batch, bucket_by="txt")


class Captioner(torch.nn.Module):
    """A recurrent network that predicts the next word. Its first state comes from a small network for the image."""

    def __init__(self, width=64):
        super().__init__()
        self.see = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(),
                                       torch.nn.AdaptiveMaxPool2d(4), torch.nn.Flatten(),
                                       torch.nn.Linear(256, width))
        self.embed = torch.nn.Embedding(len(words), width)
        self.recur = torch.nn.GRU(width, width, batch_first=True)
        self.say = torch.nn.Linear(width, len(words))

    def forward(self, images, tokens):
        return self.say(self.recur(self.embed(tokens), self.see(images)[None])[0])


torch.manual_seed(0)
torch.set_num_threads(1)  # the network is small, so the cores are for decoding
model = Captioner()
optimizer = torch.optim.Adam(model.parameters(), 5e-3)

for epoch in range(args.epochs):
    began, losses, seen, filled, all_tokens = time.perf_counter(), [], 0, 0, 0
    for images, tokens in loader:
        scores = model(images, tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seen += len(images)
        filled += int((tokens == 0).sum())
        all_tokens += tokens.numel()
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, {100 * filled / all_tokens:.0f}% padding, "
          f"{seen / (time.perf_counter() - began):.0f} images/s")

print("waited for:", loader.stats()["bottleneck"])
