"""Makes the store's files: sequences.dat, dictionary.txt, and dictionary-small.txt with the terms that are in use."""

import random
import struct

TERMS = 17_000
IN_USE = 1_000
SEQUENCES = 50_000

chance = random.Random(1)
words = ["".join(chance.choices("abcdefghilmnoprstu", k=chance.randint(3, 9))) for _ in range(2_000)]
terms = [f"{chance.choice(words)}-{number:06}\t{' '.join(chance.choices(words, k=10))}\n" for number in range(TERMS)]
chance.shuffle(terms)

with open("dictionary.txt", "w") as file:
    file.writelines(terms)
with open("dictionary-small.txt", "w") as file:
    file.writelines(terms[:IN_USE])
with open("sequences.dat", "wb") as file:
    for number in range(SEQUENCES):
        file.write(struct.pack("<II", number * 3 + 1, chance.randint(20, 5_000)))
