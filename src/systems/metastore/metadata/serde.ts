/** Serialization of the values of caches, locks and elections. */
import { types } from 'node:util'
import { shown } from '../../../api/index.js'
import { metadataError } from './errors.js'
import type { GetResult, Stat } from './types.js'

/** Serializes and deserializes values of one type. */
export interface MetadataSerde<T> {
  /**
   * The bytes to store at `path`. If the function throws, nothing is written and the writer
   * receives the error.
   */
  serialize(path: string, value: T): Uint8Array
  /**
   * Decodes the bytes of a record; `stat` has its version and times. May throw any error for bytes
   * that cannot be decoded.
   */
  deserialize(path: string, bytes: Buffer, stat: Stat): T
}

/** Values as JSON; `ERR_METADATA_INVALID_ARGUMENT` for a value without a JSON form. */
export function jsonSerde<T>(): MetadataSerde<T> {
  return {
    serialize: (_path, value) => Buffer.from(jsonOf(value)),
    deserialize: (_path, bytes) => JSON.parse(textOf(bytes)) as T,
  }
}

/** Strings as UTF-8; `ERR_METADATA_INVALID_ARGUMENT` for other values. */
export const textSerde: MetadataSerde<string> = {
  serialize: (_path, value) => {
    if (typeof value === 'string') return Buffer.from(value)
    throw metadataError('invalidArgument', `the value is a string, not ${shown(value)}`)
  },
  deserialize: (_path, bytes) => textOf(bytes),
}

/**
 * The object in a record that this package has written itself. Bytes that are no JSON, and objects
 * that `isSound` refuses, are `ERR_METADATA_CONTENT_DESERIALIZATION` with the path.
 */
export function ownObject<T extends object>(
  { stat, value }: GetResult,
  isSound: (object: Partial<T>) => boolean,
): T {
  let object: unknown
  try {
    object = JSON.parse(value.toString())
  } catch (error) {
    throw metadataError('contentDeserialization', stat.path, error)
  }
  if (typeof object === 'object' && object !== null && isSound(object)) return object as T
  throw metadataError('contentDeserialization', stat.path)
}

function jsonOf(value: unknown): string {
  let text: unknown
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw metadataError('invalidArgument', 'the value has no form as JSON', error)
  }
  if (typeof text === 'string') return text
  throw metadataError('invalidArgument', `the value has no form as JSON: ${shown(value)}`)
}

function textOf(bytes: Buffer): string {
  if (types.isUint8Array(bytes) && Buffer.isBuffer(bytes)) return bytes.toString()
  throw metadataError('invalidArgument', `the bytes of a record are a Buffer, not ${shown(bytes)}`)
}
