/** The operations of a table in one shape, in the promise forms or the synchronous ones. */
export { callsOf, type CallForm, type TableCalls } from '../suites/table/calls.js'
