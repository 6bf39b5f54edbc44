/** The cells of a result as maps (HBase: Result.getMap and its relatives). */

/** The parts of a cell that maps need. */
export interface MappedCell {
  readonly family: string
  readonly qualifier: Buffer
  readonly timestampExact: bigint
  readonly value: Buffer
}

/** Members of a result by family and qualifier, both in HBase's order. */
export type ValuesByFamily<T> = Map<string, Map<string, T>>

/** All values by family, qualifier and timestamp. */
export function versionsByFamily(
  cells: readonly MappedCell[],
  encoding: BufferEncoding,
): ValuesByFamily<Map<bigint, Buffer>> {
  const families: ValuesByFamily<Map<bigint, Buffer>> = new Map()
  for (const { family, qualifier, timestampExact, value } of cells) {
    const columns = memberOf(families, family, () => new Map<string, Map<bigint, Buffer>>())
    const name = qualifier.toString(encoding)
    const versions = memberOf(columns, name, () => new Map<bigint, Buffer>())
    if (!versions.has(timestampExact)) versions.set(timestampExact, value)
  }
  return families
}

/** The newest value of each column, which is the first. */
export function newestByFamily(
  cells: readonly MappedCell[],
  encoding: BufferEncoding,
): ValuesByFamily<Buffer> {
  const families: ValuesByFamily<Buffer> = new Map()
  for (const { family, qualifier, value } of cells) {
    const columns = memberOf(families, family, () => new Map<string, Buffer>())
    const name = qualifier.toString(encoding)
    if (!columns.has(name)) columns.set(name, value)
  }
  return families
}

function memberOf<T>(map: Map<string, T>, key: string, make: () => T): T {
  let member = map.get(key)
  if (member === undefined) {
    member = make()
    map.set(key, member)
  }
  return member
}
