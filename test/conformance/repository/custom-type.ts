/** A value type that a program registers, with two encodings. */
import type { ValueTypeFactory } from '../../../src/systems/repository/index.js'

interface Point {
  readonly x: number
  readonly y: number
}

/** Points; written in the given encoding, read in both. */
export function checkedType(newest: 1 | 2): ValueTypeFactory {
  return () => ({
    name: 'POINT',
    base: 'POINT',
    write: (writer, value) => {
      const { x, y } = value as Point
      writer.byte(newest)
      if (newest === 1) writer.text(`${x},${y}`)
      else {
        writer.double(x)
        writer.double(y)
      }
    },
    read: (reader): Point => {
      const encoding = reader.byte()
      if (encoding === 2) return { x: reader.double(), y: reader.double() }
      if (encoding !== 1) throw reader.failure(`there is no encoding ${encoding}`)
      const [x, y] = reader.text().split(',').map(Number)
      return { x, y }
    },
    toJson: (value) => value,
    fromJson: (json) => json,
  })
}
