# pragma version 0.4.3
# pragma evm-version cancun
"""
@title Token of a development chain
@license Apache-2.0
@notice An ERC-20 token that any account may mint.
@dev The storage is written at genesis: slots 0 and 1 hold the symbol, slot 2 the decimals, slot 3 the supply, and
     slot 4 is that of the balances.
"""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    amount: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    amount: uint256

symbol: public(String[32])
decimals: public(uint8)
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])


@external
@view
def name() -> String[32]:
    return self.symbol


@external
def transfer(to: address, amount: uint256) -> bool:
    self._transfer(msg.sender, to, amount)
    return True


@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    assert self.allowance[owner][msg.sender] >= amount, "ERC20: insufficient allowance"
    self.allowance[owner][msg.sender] -= amount
    self._transfer(owner, to, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    log Approval(owner=msg.sender, spender=spender, amount=amount)
    return True


@external
def mint(to: address, amount: uint256):
    self.totalSupply += amount
    self.balanceOf[to] += amount
    log Transfer(sender=empty(address), receiver=to, amount=amount)


@internal
def _transfer(owner: address, to: address, amount: uint256):
    assert to != empty(address), "ERC20: transfer to the zero address"
    assert self.balanceOf[owner] >= amount, "ERC20: transfer amount exceeds balance"
    self.balanceOf[owner] -= amount
    self.balanceOf[to] += amount
    log Transfer(sender=owner, receiver=to, amount=amount)
