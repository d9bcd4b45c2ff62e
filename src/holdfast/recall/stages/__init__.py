"""What happens to a ranking after the fusion: `order.py` lists the stages."""
