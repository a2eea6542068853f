"""What Compactor costs, as ratios that hold on any machine. ``python -m benchmarks`` prints the table."""
