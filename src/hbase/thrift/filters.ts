/** Filters as text of HBase's filter language, which the gateway parses. */
import type { Filter } from '../../api/index.js'
import { textOfFilter } from '../../storage/filter/parse/parse-filter.js'
import { notInThrift } from './refusals.js'
import type { Struct } from './structs.js'

/** The member of a get or scan for its filter. Throws `ERR_UNSUPPORTED`. */
export function filterMember(filter: Filter | undefined): Struct {
  if (filter === undefined) return {}
  const text = textOfFilter(filter)
  if (text !== undefined) return { filterString: text }
  throw notInThrift('a filter object', 'make it of its text: parseFilter("PrefixFilter(\'a\')")')
}
