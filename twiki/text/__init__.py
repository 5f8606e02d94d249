"""Wikitext → blocks → paragraphs → sentences."""
