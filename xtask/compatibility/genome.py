"""A genome and reads of it that are always the same: reference.fa and reads.fq."""
import random

random.seed(1)
genome = "".join(random.choices("ACGT", k=60000))
with open("reference.fa", "w", encoding="ascii") as file:
    file.write(f">chromosome\n{genome}\n")
with open("reads.fq", "w", encoding="ascii") as file:
    for number in range(2000):
        start = random.randrange(len(genome) - 100)
        file.write(f"@read{number}\n{genome[start:start + 100]}\n+\n{'I' * 100}\n")
