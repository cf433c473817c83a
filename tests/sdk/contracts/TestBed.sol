// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

// A vault and a key manager that take signed calls by the rules that Chainflip's contracts have, and nothing
// else: enough to say whether a payload is good.

struct SigData {
    uint256 sig;
    uint256 nonce;
    address kTimesGAddress;
}

struct TransferParams {
    address token;
    address recipient;
    uint256 amount;
}

struct Key {
    uint256 pubKeyX;
    uint8 pubKeyYParity;
}

contract KeyManager {
    uint256 constant ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;

    Key private key;
    mapping(uint256 => bool) private used;

    constructor(uint256 x, uint8 parity) {
        key = Key(x, parity);
    }

    function rotate(uint256 x, uint8 parity) external {
        key = Key(x, parity);
    }

    function getAggregateKey() external view returns (Key memory) {
        return key;
    }

    function isNonceUsedByAggKey(uint256 nonce) external view returns (bool) {
        return used[nonce];
    }

    function setAggKeyWithAggKey(SigData calldata data, Key calldata newKey) external {
        consume(data, keccak256(abi.encode(this.setAggKeyWithAggKey.selector, newKey)), address(this));
        key = newKey;
    }

    function consumeKeyNonce(SigData calldata data, bytes32 callHash) external {
        consume(data, callHash, msg.sender);
    }

    function consume(SigData calldata data, bytes32 callHash, address consumer) private {
        bytes32 message = keccak256(abi.encode(callHash, data.nonce, consumer, block.chainid, address(this)));
        require(signed(message, data), "KeyManager: Sig invalid");
        require(!used[data.nonce], "KeyManager: nonce already used");
        used[data.nonce] = true;
    }

    function signed(bytes32 message, SigData calldata data) private view returns (bool) {
        uint256 x = key.pubKeyX;
        uint256 e = uint256(keccak256(abi.encodePacked(x, key.pubKeyYParity, message, data.kTimesGAddress)));
        address found = ecrecover(
            bytes32(ORDER - mulmod(x, data.sig, ORDER)),
            27 + key.pubKeyYParity,
            bytes32(x),
            bytes32(mulmod(e % ORDER, x, ORDER))
        );
        return found == data.kTimesGAddress;
    }
}

interface Token {
    function transfer(address to, uint256 amount) external returns (bool);
}

interface Receiver {
    function cfReceive(uint32, bytes calldata, bytes calldata, address, uint256) external payable;
}

contract Vault {
    address constant NATIVE = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE;
    KeyManager private manager;

    constructor(KeyManager m) payable {
        manager = m;
    }

    receive() external payable {}

    function getKeyManager() external view returns (KeyManager) {
        return manager;
    }

    function transferFallback(SigData calldata data, TransferParams calldata pay) external {
        manager.consumeKeyNonce(data, keccak256(abi.encode(this.transferFallback.selector, pay)));
        if (pay.token == NATIVE) {
            (bool done, ) = pay.recipient.call{value: pay.amount}("");
            require(done, "Vault: transfer fallback failed");
        } else {
            require(Token(pay.token).transfer(pay.recipient, pay.amount), "token refused");
        }
    }

    struct DeployParams {
        bytes32 swapID;
        address token;
    }

    struct FetchParams {
        address place;
        address token;
    }

    // Fetches nothing, and goes on if a receiver refuses.
    function allBatch(
        SigData calldata data,
        DeployParams[] calldata deploys,
        FetchParams[] calldata fetches,
        TransferParams[] calldata transfers
    ) external {
        manager.consumeKeyNonce(data, keccak256(abi.encode(this.allBatch.selector, deploys, fetches, transfers)));
        for (uint256 i = 0; i < transfers.length; i++) {
            (bool done, ) = transfers[i].recipient.call{gas: 8000, value: transfers[i].amount}("");
            done;
        }
    }

    function executexSwapAndCall(
        SigData calldata data,
        TransferParams calldata pay,
        uint32 srcChain,
        bytes calldata srcAddress,
        bytes calldata message
    ) external {
        manager.consumeKeyNonce(
            data,
            keccak256(abi.encode(this.executexSwapAndCall.selector, pay, srcChain, srcAddress, message))
        );
        Receiver(pay.recipient).cfReceive{value: pay.amount}(srcChain, srcAddress, message, pay.token, pay.amount);
    }
}

// Takes no funds while `closed`.
contract Moody {
    bool public closed = true;

    function open() external {
        closed = false;
    }

    receive() external payable {
        require(!closed, "not now");
    }
}

// Counts its payments in a fresh slot, which takes more gas than a transfer of a batch has.
contract Counter {
    uint256 public payments;

    receive() external payable {
        payments = payments + 1;
    }
}

// A token that returns false for each transfer.
contract Stubborn {
    function balanceOf(address) external pure returns (uint256) {
        return 10 ** 30;
    }

    function transfer(address, uint256) external pure returns (bool) {
        return false;
    }
}

// Keeps the last message that came with a payment.
contract Listener {
    bytes public received;

    function cfReceive(uint32, bytes calldata, bytes calldata message, address, uint256) external payable {
        received = message;
    }
}

// Needs more gas for a message than the engines' limit has: it fills a dozen fresh slots.
contract Hungry {
    bytes public received;
    mapping(uint256 => uint256) private slots;

    function cfReceive(uint32, bytes calldata, bytes calldata message, address, uint256) external payable {
        received = message;
        for (uint256 i = 0; i < 12; i++) {
            slots[i] = block.timestamp;
        }
    }
}

// A token of which nothing exists.
contract Coin {
    function balanceOf(address) external pure returns (uint256) {
        return 0;
    }

    function transfer(address, uint256) external pure returns (bool) {
        revert("ERC20: transfer amount exceeds balance");
    }
}

// A token that anybody may make.
contract Purse {
    mapping(address => uint256) public balanceOf;

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        require(balanceOf[msg.sender] >= amount, "ERC20: transfer amount exceeds balance");
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
        return true;
    }
}
