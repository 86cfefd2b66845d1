import pandas as pd

orders = pd.read_csv("your_data.csv")
remaining = len(orders)
while remaining > 0:
    batch = orders.sample(n=1, random_state=0)
    remaining -= len(batch[batch["units"] > 100])
print("done")
