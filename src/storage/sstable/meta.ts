/**
 * Reads the parts after the data blocks: footer, properties, index, filter.
 *
 * This takes two reads: the footer, whose lengths are compared with the file's size, then all
 * sections at once, into one buffer that the results refer to.
 */
import { CodecId, type Codecs } from '../codec/codec.js'
import type { File } from '../fs/types.js'
import { BlockIndex } from './blocks/block-index.js'
import { Filter } from './filter.js'
import { checkFooterTail } from './footer-frame.js'
import { decodeFooter, tableFooter } from './footer.js'
import { footerBytes, footerTailBytes, trailerBytes } from './format.js'
import type { KeyPatch } from './blocks/key-patch.js'
import { decodeProperties, type SsTableProperties } from './properties.js'
import { checkSection, damaged, missingCodec, type SectionFile } from './blocks/section.js'

/** All parts of an SSTable except its data blocks. */
export interface SsTableMeta {
  readonly fileBytes: number
  readonly codecId: number
  readonly properties: SsTableProperties
  readonly index: BlockIndex
  readonly filter: Filter | undefined
  /** Size of the sections in memory, without the arrays of the index. */
  readonly bytes: number
}

/** Expectations on the file, and the dependencies for its blocks. */
export interface SsTableMetaOptions {
  readonly codecs: Codecs
  readonly databaseId: Buffer
  readonly expectedBytes?: number
  readonly keyPatch?: KeyPatch | undefined
}

/**
 * Reads and checks the metadata of a file. Throws as `SsTableReader.openSync` does. Does not close
 * the file.
 */
export function readSsTableMeta(
  file: File,
  writtenAs: number,
  { codecs, databaseId, expectedBytes, keyPatch }: SsTableMetaOptions,
): SsTableMeta {
  const place: SectionFile = { path: file.path, writtenAs }
  const fileBytes = file.sizeSync()
  if (expectedBytes !== undefined && fileBytes !== expectedBytes) {
    throw damaged(place, 0, `a file of ${expectedBytes} bytes`, `${fileBytes}`)
  }
  const footer = readFooter(file, databaseId, place, fileBytes)
  const { dataBytes, filterBytes, indexBytes, propertiesBytes } = footer
  const sections = readExactly(file, place, dataBytes, fileBytes - footerBytes - dataBytes)
  const filterPayload =
    filterBytes === 0 ? undefined : rawPayload(sections, 0, filterBytes, place, dataBytes)
  const indexEnd = filterBytes + indexBytes
  const indexPayload = rawPayload(sections, filterBytes, indexEnd, place, dataBytes)
  const propertiesEnd = indexEnd + propertiesBytes
  const propertiesPayload = rawPayload(sections, indexEnd, propertiesEnd, place, dataBytes)

  const filter = filterPayload === undefined ? undefined : Filter.decode(filterPayload)
  if (filterPayload !== undefined && filter === undefined) {
    throw damaged(place, dataBytes, 'whole filter lines', `${filterPayload.length} bytes`)
  }
  const index = BlockIndex.decode(indexPayload, dataBytes)
  if (typeof index === 'string') {
    throw damaged(place, dataBytes + filterBytes, `an index of ${dataBytes} bytes of blocks`, index)
  }
  const propertiesOffset = dataBytes + indexEnd
  const stored = decodeProperties(propertiesPayload)
  if (typeof stored === 'string') {
    throw damaged(place, propertiesOffset, 'table properties', stored)
  }
  if (stored.dataBytes !== dataBytes || stored.blockCount !== index.blockCount) {
    const found = `${stored.dataBytes} bytes, ${stored.blockCount} blocks`
    const expected = `${dataBytes} bytes, ${index.blockCount} blocks`
    throw damaged(place, propertiesOffset, expected, found)
  }
  const codec = codecs.byId(stored.codecId)
  if (codec === undefined) throw missingCodec(stored.codecId, place, propertiesOffset)
  const { codecId, ...known } = stored
  const named = { ...known, codecName: codec.name }
  const properties = keyPatch === undefined ? named : patched(named, keyPatch)
  return { fileBytes, codecId, properties, index, filter, bytes: sections.length }
}

/** The properties of a file with a key patch. */
function patched(properties: SsTableProperties, keyPatch: KeyPatch): SsTableProperties {
  const firstKey = Buffer.from(properties.firstKey)
  const lastKey = Buffer.from(properties.lastKey)
  for (const key of [firstKey, lastKey]) {
    if (key.length >= keyPatch.bytesMax) keyPatch.patch(key, key.length)
  }
  return { ...properties, firstKey, lastKey, ...keyPatch.properties }
}

/** Reads and checks the footer. Throws `ERR_CORRUPTION` or `ERR_FORMAT_VERSION`. */
export function readFooter(
  file: File,
  databaseId: Buffer,
  place: SectionFile,
  fileBytes: number,
): ReturnType<typeof decodeFooter> {
  if (fileBytes < footerTailBytes) {
    throw damaged(place, 0, `at least ${footerBytes} bytes`, `${fileBytes}`)
  }
  const bytes = Math.min(footerBytes, fileBytes)
  const footer = readExactly(file, place, fileBytes - bytes, bytes)
  checkFooterTail(footer.subarray(bytes - footerTailBytes), tableFooter, place, fileBytes)
  if (bytes < footerBytes) throw damaged(place, 0, `at least ${footerBytes} bytes`, `${bytes}`)
  return decodeFooter(footer, databaseId, place, fileBytes)
}

/**
 * Reads `length` bytes at `offset` into new memory. REQUIRES a length checked against the file's
 * size.
 */
export function readExactly(
  file: File,
  place: SectionFile,
  offset: number,
  length: number,
): Buffer {
  const target = Buffer.allocUnsafeSlow(length)
  const found = file.readSync(target, 0, length, offset)
  if (found < length) throw damaged(place, offset, `${length} bytes`, `${found}`)
  return target
}

/** The payload of the section `sections[start, end)`, which is always raw. */
function rawPayload(
  sections: Buffer,
  start: number,
  end: number,
  place: SectionFile,
  base: number,
): Buffer {
  checkSection(sections, start, end, place, base + start)
  const codecId = sections[end - trailerBytes]
  if (codecId !== CodecId.none) {
    throw damaged(place, base + start, `codec id ${CodecId.none}`, `${codecId}`)
  }
  return sections.subarray(start, end - trailerBytes)
}
