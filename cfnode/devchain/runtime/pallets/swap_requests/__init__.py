"""What other pallets need to have something swapped: requests, prices, fees and checks."""
