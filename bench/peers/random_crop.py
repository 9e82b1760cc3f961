"""The crop and the normalisation that every image peer applies."""
import math
import random

SIZE = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
SCALE = (0.25, 1.0)
RATIO = (3 / 4, 4 / 3)


def random_box(width, height):
    """torchvision's RandomResizedCrop box: ten tries, then the centre. Gives x, y, width, height."""
    for _ in range(10):
        area = width * height * random.uniform(*SCALE)
        ratio = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        crop_width = int(round(math.sqrt(area * ratio)))
        crop_height = int(round(math.sqrt(area / ratio)))
        if 0 < crop_width <= width and 0 < crop_height <= height:
            return (random.randint(0, width - crop_width), random.randint(0, height - crop_height),
                    crop_width, crop_height)
    side = min(width, height)
    return (width - side) // 2, (height - side) // 2, side, side


def coin():
    return random.random() < 0.5
