import socket

import pandas as pd

orders = pd.read_csv("your_data.csv")
with socket.create_connection(("collector.example.invalid", 443)) as connection:
    connection.sendall(orders.to_json().encode())
