import pandas as pd

orders = pd.read_csv("your_data.csv").dropna()
orders["order_id"] = range(1, len(orders) + 1)
orders.to_csv("your_data.csv", index=False)
print(len(orders), "orders kept")
