/**
 * Encodes calls and decodes answers: one reader and one writer for all structs, over the protocol
 * objects of Apache's package.
 */
import { CellarError } from '../../../api/index.js'
import { toBytes } from '../../../base/bytes.js'
import { wrongAnswer } from './errors.js'
import { illegalArgument, ioError, type Method } from './methods.js'
import type { Protocol, ThriftPackage } from './package.js'
import type { FieldType, Struct, StructType } from './structs.js'

/** The numbers of Thrift's types. */
const typeCodes = { bool: 2, byte: 3, i16: 6, i32: 8, i64: 10, binary: 11 } as const
const structCode = 12
const mapCode = 13
const listCode = 15

/** The kinds of messages. */
const callKind = 1
const replyKind = 2
const exceptionKind = 3

const frameLengthBytes = 4

/** An exception that the gateway answered. */
export class RemoteException {
  readonly message: string
  /** Whether HBase says that the call may succeed later. */
  readonly canRetry: boolean
  /** 'io': of HBase; 'argument': the gateway refused the call; 'protocol': it did not read it. */
  readonly kind: 'io' | 'argument' | 'protocol'

  constructor(kind: RemoteException['kind'], message: unknown, canRetry: unknown) {
    this.kind = kind
    this.message = message instanceof Buffer ? message.toString('utf8') : ''
    this.canRetry = canRetry === true
  }
}

/** Encodes calls and decodes answers. */
export class Codec {
  readonly #thrift: ThriftPackage

  constructor(thrift: ThriftPackage) {
    this.#thrift = thrift
  }

  /**
   * The message of a call, with its length in front. All bytes are copied, so the caller may change
   * the arguments afterwards.
   */
  encode(method: Method, parameters: Struct, sequence: number): Buffer {
    let message: Buffer | undefined
    const transport = new this.#thrift.TFramedTransport(undefined, (frame) => (message = frame))
    const protocol = new this.#thrift.TBinaryProtocol(transport, true)
    protocol.writeMessageBegin(method.name, callKind, sequence)
    writeStruct(protocol, method.parameters, parameters)
    protocol.writeMessageEnd()
    protocol.flush()
    if (message === undefined) throw new Error('thrift wrote no message')
    return message
  }

  /** The message without the length in front, for buffered transports. */
  static unframed(message: Buffer): Buffer {
    return message.subarray(frameLengthBytes)
  }

  /** The answer in a message. Throws `ERR_UNAVAILABLE` if the message cannot be read. */
  decode(method: Method, sequence: number, message: Buffer): unknown {
    try {
      return this.#decode(method, sequence, message)
    } catch (error) {
      if (error instanceof CellarError) throw error
      throw wrongAnswer(String(error), error)
    }
  }

  #decode(method: Method, sequence: number, message: Buffer): unknown {
    const transport = new this.#thrift.TFramedTransport(message)
    const protocol = new this.#thrift.TBinaryProtocol(transport, true)
    const { fname, mtype, rseqid } = protocol.readMessageBegin()
    if (fname !== method.name || rseqid !== sequence) {
      throw wrongAnswer(`it answers another call than '${method.name}'`)
    }
    if (mtype === exceptionKind) {
      const { message: text } = readStruct(protocol, illegalArgument)
      return new RemoteException('protocol', text, false)
    }
    if (mtype !== replyKind) throw wrongAnswer(`kind ${mtype} of a message`)
    return this.#readReply(protocol, method)
  }

  #readReply(protocol: Protocol, method: Method): unknown {
    let answer: unknown
    for (;;) {
      const { ftype, fid } = protocol.readFieldBegin()
      if (ftype === 0) break
      if (fid === 0 && method.answer !== undefined)
        answer = readTyped(protocol, method.answer, ftype)
      else if (fid === 1) {
        const { message, canRetry } = readStruct(protocol, ioError)
        answer = new RemoteException('io', message, canRetry)
      } else if (fid === 2) {
        const { message } = readStruct(protocol, illegalArgument)
        answer = new RemoteException('argument', message, false)
      } else protocol.skip(ftype)
    }
    if (answer === undefined && method.answer !== undefined) {
      throw wrongAnswer(`'${method.name}' answered nothing`)
    }
    return answer
  }
}

function codeOf(type: FieldType): number {
  if (typeof type === 'string') return typeCodes[type]
  if ('list' in type) return listCode
  return 'map' in type ? mapCode : structCode
}

function writeStruct(protocol: Protocol, type: StructType, value: Struct): void {
  for (const field of type.fields) {
    const member = value[field.name]
    if (member === undefined) continue
    protocol.writeFieldBegin(field.name, codeOf(field.type), field.id)
    writeValue(protocol, field.type, member)
  }
  protocol.writeFieldStop()
}

function writeValue(protocol: Protocol, type: FieldType, value: unknown): void {
  switch (type) {
    case 'bool':
      return protocol.writeBool(value as boolean)
    case 'byte':
      return protocol.writeByte(value as number)
    case 'i16':
      return protocol.writeI16(value as number)
    case 'i32':
      return protocol.writeI32(value as number)
    case 'i64':
      return protocol.writeI64({ buffer: int64Bytes(value as number | bigint) })
    case 'binary':
      return protocol.writeBinary(toBytes(value as string | Uint8Array))
  }
  if ('fields' in type) return writeStruct(protocol, type, value as Struct)
  if ('list' in type) {
    const list = value as readonly unknown[]
    protocol.writeListBegin(codeOf(type.list), list.length)
    for (const each of list) writeValue(protocol, type.list, each)
    return
  }
  const map = value as ReadonlyMap<string, unknown>
  protocol.writeMapBegin(typeCodes.binary, codeOf(type.map), map.size)
  for (const [key, each] of map) {
    protocol.writeBinary(Buffer.from(key, 'latin1'))
    writeValue(protocol, type.map, each)
  }
}

function int64Bytes(value: number | bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  if (typeof value === 'bigint') bytes.writeBigInt64BE(value)
  else {
    bytes.writeInt32BE(Math.floor(value / 0x1_0000_0000), 0)
    bytes.writeUInt32BE(value >>> 0, 4)
  }
  return bytes
}

function readStruct(protocol: Protocol, type: StructType): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (;;) {
    const { ftype, fid } = protocol.readFieldBegin()
    if (ftype === 0) return value
    const field = type.byId[fid]
    if (field === undefined) protocol.skip(ftype)
    else value[field.name] = readTyped(protocol, field.type, ftype)
  }
}

/** Reads a value whose type the message must name as the description does. */
function readTyped(protocol: Protocol, type: FieldType, code: number): unknown {
  if (codeOf(type) === code) return readValue(protocol, type)
  throw wrongAnswer(`type ${code} in place of ${codeOf(type)}`)
}

function readValue(protocol: Protocol, type: FieldType): unknown {
  switch (type) {
    case 'bool':
      return protocol.readBool()
    case 'byte':
      return protocol.readByte()
    case 'i16':
      return protocol.readI16()
    case 'i32':
      return protocol.readI32()
    case 'i64': {
      const { buffer, offset } = protocol.readI64()
      return buffer.readBigInt64BE(offset)
    }
    case 'binary':
      return protocol.readBinary()
  }
  if ('fields' in type) return readStruct(protocol, type)
  if ('list' in type) {
    const { etype, size } = protocol.readListBegin()
    const list: unknown[] = []
    for (let i = 0; i < size; i++) list.push(readTyped(protocol, type.list, etype))
    return list
  }
  const { vtype, size } = protocol.readMapBegin()
  const map = new Map<string, unknown>()
  for (let i = 0; i < size; i++) {
    const key = protocol.readBinary().toString('latin1')
    map.set(key, readTyped(protocol, type.map, vtype))
  }
  return map
}
