import pandas as pd

orders = pd.read_csv("your_data.csv")
best = orders.assign(revenue=orders["units"] * orders["unit_price"]).nlargest(40, "revenue")
print(best[["order_id", "customer_email", "revenue"]].to_string(index=False))
