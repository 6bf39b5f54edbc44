/**
 * Filters as text of HBase's filter language, which the gateway parses. A filter object has no
 * text, so only filters of `parseFilter` can be sent.
 */
import { CellarError, ErrorCode } from '../../base/errors.js'
import type { Filter } from '../../api/index.js'
import { textOfFilter } from '../../storage/filter/parse/parse-filter.js'
import type { Struct } from './wire/structs.js'

/** The member of a get or scan for its filter. Throws `ERR_UNSUPPORTED`. */
export function filterMember(filter: Filter | undefined): Struct {
  if (filter === undefined) return {}
  const text = textOfFilter(filter)
  if (text !== undefined) return { filterString: text }
  const message =
    "a filter object needs the capability 'filters', which this backend lacks; " +
    'filters of parseFilter can be sent: parseFilter("PrefixFilter(\'a\')")'
  throw new CellarError(ErrorCode.unsupported, message)
}
