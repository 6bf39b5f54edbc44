/** Results of the gateway as results of the api. */
import { equalBytes } from '../../base/bytes.js'
import { isCellType, cellTypeName, CellType } from '../../storage/cell/cell-type.js'
import { Result, type Cell, type ResultMarks } from '../../api/index.js'
import { wrongAnswer } from './wire/errors.js'

interface CellStruct {
  readonly family?: Buffer
  readonly qualifier?: Buffer
  readonly value?: Buffer
  readonly timestamp?: bigint
  readonly type?: number
}

/** A result as the codec reads it. */
export interface ResultStruct {
  readonly row?: Buffer
  readonly columnValues?: readonly CellStruct[]
  readonly partial?: boolean
}

/** The name of a family that was read last: neighbouring cells mostly have the same. */
let lastFamily = { bytes: Buffer.alloc(0), name: '' }

function familyName(bytes: Buffer): string {
  const { bytes: last, name } = lastFamily
  if (equalBytes(bytes, 0, bytes.length, last, 0, last.length)) return name
  lastFamily = { bytes: Buffer.from(bytes), name: bytes.toString('utf8') }
  return lastFamily.name
}

/** The cells of a result. Throws `ERR_UNAVAILABLE` if parts are missing. */
export function cellsOf({ row, columnValues = [] }: ResultStruct): Cell[] {
  return columnValues.map(({ family, qualifier, value, timestamp, type }) => {
    if (
      row === undefined ||
      family === undefined ||
      qualifier === undefined ||
      value === undefined ||
      timestamp === undefined
    ) {
      throw wrongAnswer('a cell lacks its row, family, qualifier, value or timestamp')
    }
    const code = type ?? CellType.put
    if (!isCellType(code)) throw wrongAnswer(`type ${code} of a cell`)
    return {
      row,
      family: familyName(family),
      qualifier,
      timestamp: Number(timestamp),
      timestampExact: timestamp,
      type: cellTypeName(code),
      value,
      sequence: 0,
    }
  })
}

/** A result of the gateway as one of the api. */
export function resultOf(struct: ResultStruct, marks: ResultMarks): Result {
  return Result.of(cellsOf(struct), marks)
}
