/** Values of the system fields of a record: its id, its version, and its type with supertypes. */
import { Link } from '../../link.js'
import type { SchemaCache } from '../../schema/schema-cache.js'
import { ValueTypes } from '../../values/value-types.js'
import type { SystemField } from '../definition/chain.js'
import type { IndexValue } from '../definition/configuration.js'
import type { Visited } from './chain-walk.js'

interface TypeVersion {
  readonly name: string
  readonly version: number
}

const types = new ValueTypes()
const text = types.parse('STRING')
const number = types.parse('LONG')
const link = types.parse('LINK')

/** Values of a system field. */
export function systemValues(
  field: SystemField,
  { id, table, version, type, typeVersion }: Visited,
  schema: SchemaCache,
): IndexValue[] {
  if (field === 'id') return [{ value: id.text, type: text }]
  if (field === 'link') return [{ value: Link.to(id, table), type: link }]
  if (field === 'version') {
    return version === undefined ? [] : [{ value: BigInt(version), type: number }]
  }
  if (type === undefined) return []
  const own = { name: type, version: typeVersion ?? schema.recordType(type).version }
  const isOwn = field.startsWith('recordType')
  // `recordTypes`, `recordTypeNames` and `recordTypesWithVersion` also show the supertypes.
  const above = isOwn && !/s$|sWith/.test(field) ? [] : supertypesOf(own, schema)
  const part = /(Namespace|Name|WithVersion|Version)s?$/.exec(field)?.[1]
  return (isOwn ? [own, ...above] : above).map(({ name, version }) => {
    const end = name.indexOf('}')
    if (part === 'Version') return { value: BigInt(version), type: number }
    let value = name
    if (part === 'Name') value = name.slice(end + 1)
    else if (part === 'Namespace') value = name.slice(1, end)
    else if (part === 'WithVersion') value = `${name}:${version}`
    return { value, type: text }
  })
}

/** All supertypes of a type, each once. */
function supertypesOf(own: TypeVersion, schema: SchemaCache): TypeVersion[] {
  const found = new Map<string, TypeVersion>([[own.name, own]])
  const visit = ({ name, version }: TypeVersion): void => {
    for (const supertype of schema.recordType(name, version).supertypes) {
      const { name: above } = schema.recordTypeById(supertype.id)
      if (found.has(above)) continue
      const next = { name: above, version: supertype.version }
      found.set(above, next)
      visit(next)
    }
  }
  visit(own)
  return [...found.values()].slice(1)
}
