"""Liquidity providers: their accounts, deposits and withdrawals."""
