import pandas as pd

orders = pd.read_csv("your_data.csv", parse_dates=["day"])
orders["units"] = orders["units"].fillna(0).astype(int)
orders["revenue"] = orders["units"] * orders["unit_price"]

by_region = (
    orders.groupby("region")
    .agg(orders=("order_id", "count"), units=("units", "sum"), revenue=("revenue", "sum"))
    .sort_values("revenue", ascending=False)
)
print(by_region.to_string(float_format="{:.2f}".format))

by_month = orders.groupby(orders["day"].dt.to_period("M"))["revenue"].sum()
print()
for month, revenue in by_month.items():
    print(f"{month}  {revenue:10.2f}")

by_region.to_csv("by_region.csv")
