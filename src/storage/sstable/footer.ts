/**
 * The footer of an SSTable: fixed size, at the end of the file. It holds the lengths of the
 * sections. There are no gaps between these, so their lengths determine their offsets. See
 * FORMAT.md, "Footer".
 */
import { readUint64LE, writeUint64LE } from '../../base/bytes.js'
import { checkFooter, sealFooter, type FooterKind } from './footer-frame.js'
import { fileMagic, footerBytes, formatVersion, sectionBytesMax } from './format.js'
import { damaged, type SectionFile } from './blocks/section.js'

/** The footer of an SSTable as a kind of footer. */
export const tableFooter: FooterKind = { footerBytes, version: formatVersion, magic: fileMagic }

/** Lengths of the sections in file order, trailers included. */
export interface Footer {
  readonly dataBytes: number
  /** 0 if the file has no filter. */
  readonly filterBytes: number
  readonly indexBytes: number
  readonly propertiesBytes: number
}

/** Makes the footer for `offset` of file `fileNumber`. */
export function encodeFooter(
  footer: Footer,
  databaseId: Buffer,
  fileNumber: number,
  offset: number,
): Buffer {
  const target = Buffer.alloc(footerBytes)
  writeUint64LE(target, 0, footer.dataBytes)
  target.writeUInt32LE(footer.filterBytes, 8)
  target.writeUInt32LE(footer.indexBytes, 12)
  target.writeUInt32LE(footer.propertiesBytes, 16)
  sealFooter(target, tableFooter, databaseId, fileNumber, offset)
  return target
}

/**
 * Decodes the footer of a file of `fileBytes`. REQUIRES a checked tail. Throws `ERR_CORRUPTION`,
 * also if the file belongs to another database than `databaseId`.
 */
export function decodeFooter(
  source: Buffer,
  databaseId: Buffer,
  file: SectionFile,
  fileBytes: number,
): Footer {
  checkFooter(source, tableFooter, databaseId, file, fileBytes)
  const offset = fileBytes - footerBytes
  const reserved = source.readUInt32LE(20)
  if (reserved !== 0) throw damaged(file, offset + 20, 'reserved 0', `${reserved}`)
  const footer = {
    dataBytes: readUint64LE(source, 0),
    filterBytes: source.readUInt32LE(8),
    indexBytes: source.readUInt32LE(12),
    propertiesBytes: source.readUInt32LE(16),
  }
  const { dataBytes, filterBytes, indexBytes, propertiesBytes } = footer
  const total = dataBytes + filterBytes + indexBytes + propertiesBytes + footerBytes
  if (total !== fileBytes) throw damaged(file, offset, `sections of ${fileBytes} bytes`, `${total}`)
  const longest = Math.max(filterBytes, indexBytes, propertiesBytes)
  if (longest > sectionBytesMax) {
    throw damaged(file, offset, `at most ${sectionBytesMax} bytes a section`, `${longest}`)
  }
  return footer
}
