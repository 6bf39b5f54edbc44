/** Families for transactional tables: with all versions, and a TTL in terms of pointers. */
import { checkObject, invalidArgument, type FamilyOptions, type Table } from '../../../api/index.js'
import { checkMilliseconds } from '../options.js'

/** Key of the TTL, in milliseconds, in the metadata of a transactional family. */
const ttlMetadata = 'transaction.ttl.milliseconds'
const allVersions = 0x7fff_ffff

/** Options of a transactional family; `ttlMilliseconds` 0 = forever. */
export function transactionalFamily(
  options: FamilyOptions = {},
  ttlMilliseconds = 0,
): FamilyOptions {
  checkObject(options, 'the options of a family')
  checkMilliseconds(ttlMilliseconds, 'ttlMilliseconds', 0)
  const { metadata: given = {} } = options
  const metadata = { ...checkObject(given, 'metadata'), [ttlMetadata]: String(ttlMilliseconds) }
  return { ...options, versions: allVersions, metadata }
}

/** The TTL of each family with a TTL, in milliseconds. */
export function transactionalTtl(table: Table): Record<string, number> {
  const ttl: Record<string, number> = {}
  for (const [name, { metadata }] of Object.entries(table.describe().families)) {
    const milliseconds = Number(metadata[ttlMetadata] ?? 0)
    if (milliseconds > 0) ttl[name] = milliseconds
  }
  return ttl
}

/** The families of a table. `ERR_INVALID_ARGUMENT` if a family does not keep all versions. */
export function transactionalFamilies(table: Table): ReadonlySet<string> {
  const families = Object.entries(table.describe().families)
  for (const [name, { versions }] of families) {
    if (versions >= allVersions) continue
    throw invalidArgument(
      `the family '${name}' of '${table.name}' is not transactional: create or alter it with ` +
        'the options of transactionalFamily()',
    )
  }
  return new Set(families.map(([name]) => name))
}
