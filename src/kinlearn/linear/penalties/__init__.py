"""Linear models of many tasks, under the penalties that relate them."""
