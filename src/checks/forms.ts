/** The forms of operations, which messages show to a caller whose argument has another form. */
import { checkObject } from '../base/arguments.js'

const forms = {
  get: "{ row: 'r' }",
  scan: "{ prefix: 'r', limit: 10 }",
  put: "{ row: 'r', cells: { 'f:q': 'value' } }",
  delete: "{ row: 'r' }",
  increment: "{ row: 'r', columns: { 'f:n': 1 } }",
  append: "{ row: 'r', columns: { 'f:q': 'tail' } }",
  check: "{ row: 'r', column: 'f:q', equals: 'value' }",
  mutation: "{ put: { cells: { 'f:q': 'value' } } }",
  mutateRow: "{ row: 'r', mutations: [{ delete: {} }] }",
  mutateRows: "{ rows: [{ row: 'r', delete: {} }] }",
  'a row of mutateRows': "{ row: 'r', delete: {} }",
  'the action of a check': "{ put: { cells: { 'f:q': 'value' } } }",
  'an added mutation': "{ put: { row: 'r', cells: { 'f:q': 'value' } } }",
  'an atomic batch': "[{ table: 't', row: 'r', put: { cells: { 'f:q': 'value' } } }]",
  'a mutation of an atomic batch': "{ table: 't', row: 'r', put: { cells: { 'f:q': 'value' } } }",
  'table options': '{ families: { f: {} } }',
  'families of a table': '{ f: {} }',
  'families of an alteration': '{ f: {} }',
  families: '{ f: {} }',
} as const

/** An operation, or a part of one, as messages name it. */
export type FormName = keyof typeof forms

/** As `checkObject`, with a form in the message. */
export function checkForm<T>(value: T, what: FormName): T {
  return checkObject(value, what, forms[what])
}
