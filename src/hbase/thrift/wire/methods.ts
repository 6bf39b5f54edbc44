/** The methods of HBase's Thrift2 service that the client calls: arguments and answer of each. */
import * as structs from './structs.js'
import { struct, type FieldType, type StructType } from './structs.js'

/** A method of the service. */
export interface Method {
  readonly name: string
  readonly parameters: StructType
  /** The type of the answer; undefined: there is none. */
  readonly answer: FieldType | undefined
  /** Whether the call may be repeated without another effect, for all arguments. */
  readonly isIdempotent: boolean
}

/** HBase's exceptions, which a struct of an answer has in place of the answer. */
export const ioError = struct({ 1: ['message', 'binary'], 2: ['canRetry', 'bool'] })
/** The exception for an argument that the gateway cannot use. */
export const illegalArgument = struct({ 1: ['message', 'binary'] })

const table = { 1: ['table', 'binary'] } as const
const named = { 1: ['table', structs.tableName] } as const
const results: FieldType = { list: structs.result }
const text = 'binary'

type Declared = readonly [
  parameters: Readonly<Record<number, readonly [string, FieldType]>>,
  answer?: FieldType | undefined,
  isIdempotent?: boolean,
]

const declared = {
  existsAll: [{ ...table, 2: ['gets', { list: structs.get }] }, { list: 'bool' }, true],
  get: [{ ...table, 2: ['get', structs.get] }, structs.result, true],
  getMultiple: [{ ...table, 2: ['gets', { list: structs.get }] }, results, true],
  put: [{ ...table, 2: ['put', structs.put] }],
  putMultiple: [{ ...table, 2: ['puts', { list: structs.put }] }],
  deleteSingle: [{ ...table, 2: ['delete', structs.deletion] }],
  deleteMultiple: [
    { ...table, 2: ['deletes', { list: structs.deletion }] },
    { list: structs.deletion },
  ],
  increment: [{ ...table, 2: ['increment', structs.increment] }, structs.result],
  append: [{ ...table, 2: ['append', structs.append] }, structs.result],
  mutateRow: [{ ...table, 2: ['mutations', structs.rowMutations] }],
  checkAndMutate: [
    {
      ...table,
      2: ['row', 'binary'],
      3: ['family', 'binary'],
      4: ['qualifier', 'binary'],
      5: ['operator', 'i32'],
      6: ['value', 'binary'],
      7: ['mutations', structs.rowMutations],
    },
    'bool',
  ],
  openScanner: [{ ...table, 2: ['scan', structs.scan] }, 'i32', true],
  /** A repeated call would give the rows behind those of the lost answer. */
  getScannerRows: [{ 1: ['scanner', 'i32'], 2: ['count', 'i32'] }, results],
  closeScanner: [{ 1: ['scanner', 'i32'] }],
  getTableDescriptor: [named, structs.tableDescriptor, true],
  tableExists: [named, 'bool', true],
  getTableNamesByPattern: [
    { 1: ['pattern', text], 2: ['withSystemTables', 'bool'] },
    { list: structs.tableName },
    true,
  ],
  createTable: [{ 1: ['descriptor', structs.tableDescriptor] }],
  deleteTable: [named],
  truncateTable: [{ ...named, 2: ['preserveSplits', 'bool'] }],
  enableTable: [named],
  disableTable: [named],
  isTableEnabled: [named, 'bool', true],
  modifyTable: [{ 1: ['descriptor', structs.tableDescriptor] }],
  createNamespace: [{ 1: ['namespace', structs.namespace] }],
  deleteNamespace: [{ 1: ['name', text] }],
  listNamespaces: [{}, { list: text }, true],
  getThriftServerType: [{}, 'i32', true],
} as const satisfies Readonly<Record<string, Declared>>

/** The methods by name. */
export const methods = Object.fromEntries(
  Object.entries<Declared>(declared).map(([name, [parameters, answer, isIdempotent = false]]) => {
    return [name, { name, parameters: struct(parameters), answer, isIdempotent }]
  }),
) as Readonly<Record<keyof typeof declared, Method>>
