"""The same processors on Kafka and Faust, for those whom one machine no longer serves."""
