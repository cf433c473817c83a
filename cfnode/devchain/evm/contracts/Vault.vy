# pragma version 0.4.3
# pragma evm-version cancun
"""
@title Vault of a development chain
@license Apache-2.0
@notice Holds coins and tokens, and pays them out by calls that the State Chain has signed.
@dev Functions, events and texts of errors are those that the State Chain and its users know of Chainflip's
     vault. Nothing is fetched from deposit channels: the development chain witnesses deposits without a
     transaction. The storage is written at genesis: slot 0 holds the key manager.
"""

struct SigData:
    sig: uint256
    nonce: uint256
    kTimesGAddress: address

struct TransferParams:
    token: address
    recipient: address
    amount: uint256

struct DeployFetchParams:
    swapID: bytes32
    token: address

struct FetchParams:
    fetchContract: address
    token: address

interface KeyManager:
    def consumeKeyNonce(sigData: SigData, contractMsgHash: bytes32): nonpayable

interface Token:
    def transfer(to: address, amount: uint256) -> bool: nonpayable

interface Receiver:
    def cfReceive(
        srcChain: uint32, srcAddress: Bytes[256], message: Bytes[16384], token: address, amount: uint256
    ): payable

event TransferNativeFailed:
    recipient: indexed(address)
    amount: uint256

event TransferTokenFailed:
    recipient: indexed(address)
    amount: uint256
    token: indexed(address)
    reason: Bytes[256]

NATIVE: constant(address) = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE
GAS_OF_A_PAYMENT: constant(uint256) = 8000
MAX_ENTRIES: constant(uint256) = 128

keyManager: address


@external
@payable
def __default__():
    pass


@external
@view
def getKeyManager() -> address:
    return self.keyManager


@external
def transferFallback(sigData: SigData, transferParams: TransferParams):
    call: bytes32 = keccak256(
        abi_encode(
            method_id("transferFallback((uint256,uint256,address),(address,address,uint256))", output_type=bytes4),
            transferParams,
        )
    )
    self._check(transferParams)
    extcall KeyManager(self.keyManager).consumeKeyNonce(sigData, call)
    if transferParams.token == NATIVE:
        done: bool = raw_call(
            transferParams.recipient, b"", value=transferParams.amount, revert_on_failure=False
        )
        assert done, "Vault: transfer fallback failed"
    else:
        self._transfer_token(transferParams)


@external
def transfer(sigData: SigData, transferParams: TransferParams):
    call: bytes32 = keccak256(
        abi_encode(
            method_id("transfer((uint256,uint256,address),(address,address,uint256))", output_type=bytes4),
            transferParams,
        )
    )
    self._check(transferParams)
    extcall KeyManager(self.keyManager).consumeKeyNonce(sigData, call)
    self._pay(transferParams)


@external
def allBatch(
    sigData: SigData,
    deployFetchParamsArray: DynArray[DeployFetchParams, MAX_ENTRIES],
    fetchParamsArray: DynArray[FetchParams, MAX_ENTRIES],
    transferParamsArray: DynArray[TransferParams, MAX_ENTRIES],
):
    call: bytes32 = keccak256(
        abi_encode(
            method_id(
                "allBatch((uint256,uint256,address),(bytes32,address)[],(address,address)[],(address,address,uint256)[])",
                output_type=bytes4,
            ),
            deployFetchParamsArray,
            fetchParamsArray,
            transferParamsArray,
        )
    )
    extcall KeyManager(self.keyManager).consumeKeyNonce(sigData, call)
    for transferParams: TransferParams in transferParamsArray:
        self._pay(transferParams)


@external
def executexSwapAndCall(
    sigData: SigData,
    transferParams: TransferParams,
    srcChain: uint32,
    srcAddress: Bytes[256],
    message: Bytes[16384],
):
    call: bytes32 = keccak256(
        abi_encode(
            method_id(
                "executexSwapAndCall((uint256,uint256,address),(address,address,uint256),uint32,bytes,bytes)",
                output_type=bytes4,
            ),
            transferParams,
            srcChain,
            srcAddress,
            message,
        )
    )
    self._check(transferParams)
    extcall KeyManager(self.keyManager).consumeKeyNonce(sigData, call)
    paid: uint256 = 0
    if transferParams.token == NATIVE:
        paid = transferParams.amount
    else:
        self._transfer_token(transferParams)
    extcall Receiver(transferParams.recipient).cfReceive(
        srcChain, srcAddress, message, transferParams.token, transferParams.amount, value=paid
    )


@internal
@pure
def _check(transferParams: TransferParams):
    assert transferParams.token != empty(address), "Shared: address input is empty"
    assert transferParams.recipient != empty(address), "Shared: address input is empty"
    assert transferParams.amount != 0, "Shared: uint input is empty"


@internal
def _transfer_token(transferParams: TransferParams):
    done: bool = extcall Token(transferParams.token).transfer(
        transferParams.recipient, transferParams.amount, default_return_value=True
    )
    assert done, "SafeERC20: ERC20 operation did not succeed"


@internal
def _pay(transferParams: TransferParams):
    """
    @dev A receiver that refuses costs the others nothing: its failure is an event.
    """
    done: bool = False
    if transferParams.token == NATIVE:
        done = raw_call(
            transferParams.recipient,
            b"",
            gas=GAS_OF_A_PAYMENT,
            value=transferParams.amount,
            revert_on_failure=False,
        )
        if not done:
            log TransferNativeFailed(recipient=transferParams.recipient, amount=transferParams.amount)
        return
    answer: Bytes[256] = b""
    done, answer = raw_call(
        transferParams.token,
        abi_encode(
            transferParams.recipient, transferParams.amount, method_id=method_id("transfer(address,uint256)")
        ),
        max_outsize=256,
        revert_on_failure=False,
    )
    if done and len(answer) != 0:
        done = len(answer) == 32 and convert(slice(answer, 0, 32), uint256) == 1
    if not done:
        log TransferTokenFailed(
            recipient=transferParams.recipient,
            amount=transferParams.amount,
            token=transferParams.token,
            reason=answer,
        )
