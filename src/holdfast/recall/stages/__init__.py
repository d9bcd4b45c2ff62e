"""What happens to a ranking after the fusion: pipeline.py lists the stages."""
