/** Results of the gateway as results of the api. */
import { isCellType, cellTypeName, CellType } from '../../storage/cell/cell-type.js'
import { Result, type Cell, type ResultMarks } from '../../api/index.js'
import { wrongAnswer } from './wire/errors.js'

/** A cell as the codec reads it. */
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
      family: family.toString('utf8'),
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
