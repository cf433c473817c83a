# pragma version 0.4.3
# pragma evm-version cancun
"""
@title Key manager of a development chain
@license Apache-2.0
@notice Takes calls that the State Chain's aggregate key has signed, each nonce once.
@dev Functions, events and texts of errors are those that the State Chain and its users know of Chainflip's key
     manager. There is no timeout after which the governor alone may set a key: it may at any time, and that is
     how the key follows the development chain. The storage is written at genesis: slots 0 and 1 hold the key,
     slot 2 the governor.
"""

struct SigData:
    sig: uint256
    nonce: uint256
    kTimesGAddress: address

struct Key:
    pubKeyX: uint256
    pubKeyYParity: uint8

event SignatureAccepted:
    sigData: SigData
    signer: address

event AggKeySetByAggKey:
    oldAggKey: Key
    newAggKey: Key

event AggKeySetByGovKey:
    oldAggKey: Key
    newAggKey: Key

# The order of secp256k1, and the bound of a key's x.
ORDER: constant(uint256) = 115792089237316195423570985008687907852837564279074904382605163141518161494337
HALF_ORDER: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747169

key: Key
governor: address
used: HashMap[uint256, bool]


@external
@view
def getAggregateKey() -> Key:
    return self.key


@external
@view
def getGovernanceKey() -> address:
    return self.governor


@external
@view
def isNonceUsedByAggKey(nonce: uint256) -> bool:
    return self.used[nonce]


@external
def consumeKeyNonce(sigData: SigData, contractMsgHash: bytes32):
    self._consume(sigData, contractMsgHash, msg.sender)


@external
def setAggKeyWithAggKey(sigData: SigData, newAggKey: Key):
    call: bytes32 = keccak256(
        abi_encode(method_id("setAggKeyWithAggKey((uint256,uint256,address),(uint256,uint8))", output_type=bytes4), newAggKey)
    )
    self._consume(sigData, call, self)
    log AggKeySetByAggKey(oldAggKey=self.key, newAggKey=newAggKey)
    self._set(newAggKey)


@external
def setAggKeyWithGovKey(newAggKey: Key):
    assert msg.sender == self.governor, "KeyManager: not governor"
    log AggKeySetByGovKey(oldAggKey=self.key, newAggKey=newAggKey)
    self._set(newAggKey)


@internal
def _set(newAggKey: Key):
    assert newAggKey.pubKeyX != 0, "Shared: pubKeyX is empty"
    assert newAggKey.pubKeyX < HALF_ORDER, "Public-key x >= HALF_Q"
    assert newAggKey.pubKeyYParity < 2, "KeyManager: parity is 0 or 1"
    self.key = newAggKey


@internal
def _consume(sigData: SigData, contractMsgHash: bytes32, consumer: address):
    message: bytes32 = keccak256(abi_encode(contractMsgHash, sigData.nonce, consumer, chain.id, self))
    assert self._is_signed(message, sigData), "KeyManager: Sig invalid"
    assert not self.used[sigData.nonce], "KeyManager: nonce already used"
    self.used[sigData.nonce] = True
    log SignatureAccepted(sigData=sigData, signer=tx.origin)


@internal
@view
def _is_signed(message: bytes32, sigData: SigData) -> bool:
    assert sigData.sig != 0 and sigData.kTimesGAddress != empty(address), "No zero inputs allowed"
    assert sigData.sig < ORDER, "Sig must be reduced modulo Q"
    x: uint256 = self.key.pubKeyX
    parity: uint8 = self.key.pubKeyYParity
    challenge: uint256 = convert(
        keccak256(
            concat(
                convert(x, bytes32),
                convert(parity, bytes1),
                message,
                convert(sigData.kTimesGAddress, bytes20),
            )
        ),
        uint256,
    ) % ORDER
    found: address = ecrecover(
        convert(ORDER - uint256_mulmod(x, sigData.sig, ORDER), bytes32),
        27 + convert(parity, uint256),
        x,
        uint256_mulmod(challenge, x, ORDER),
    )
    return found == sigData.kTimesGAddress
