import pandas as pd

orders = pd.read_csv("your_data.csv"
totals = orders.groupby("product")["units"].sum()
print(totals)
