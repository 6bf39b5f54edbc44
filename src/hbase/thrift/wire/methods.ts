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

type Parameters = Readonly<Record<number, readonly [string, FieldType]>>

function method(
  name: string,
  parameters: Parameters,
  answer: FieldType | undefined,
  isIdempotent = false,
): Method {
  return { name, parameters: struct(parameters), answer, isIdempotent }
}

const table = { 1: ['table', 'binary'] } as const
const named = { 1: ['table', structs.tableName] } as const
const results: FieldType = { list: structs.result }
const text = 'binary'

/** The methods by name. */
export const methods = {
  existsAll: method(
    'existsAll',
    { ...table, 2: ['gets', { list: structs.get }] },
    { list: 'bool' },
    true,
  ),
  get: method('get', { ...table, 2: ['get', structs.get] }, structs.result, true),
  getMultiple: method(
    'getMultiple',
    { ...table, 2: ['gets', { list: structs.get }] },
    results,
    true,
  ),
  put: method('put', { ...table, 2: ['put', structs.put] }, undefined),
  putMultiple: method('putMultiple', { ...table, 2: ['puts', { list: structs.put }] }, undefined),
  deleteSingle: method('deleteSingle', { ...table, 2: ['delete', structs.deletion] }, undefined),
  deleteMultiple: method(
    'deleteMultiple',
    { ...table, 2: ['deletes', { list: structs.deletion }] },
    { list: structs.deletion },
  ),
  increment: method('increment', { ...table, 2: ['increment', structs.increment] }, structs.result),
  append: method('append', { ...table, 2: ['append', structs.append] }, structs.result),
  mutateRow: method('mutateRow', { ...table, 2: ['mutations', structs.rowMutations] }, undefined),
  checkAndMutate: method(
    'checkAndMutate',
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
  ),
  openScanner: method('openScanner', { ...table, 2: ['scan', structs.scan] }, 'i32', true),
  /** A repeated call would give the rows behind those of the lost answer. */
  getScannerRows: method('getScannerRows', { 1: ['scanner', 'i32'], 2: ['count', 'i32'] }, results),
  closeScanner: method('closeScanner', { 1: ['scanner', 'i32'] }, undefined),
  getTableDescriptor: method('getTableDescriptor', named, structs.tableDescriptor, true),
  tableExists: method('tableExists', named, 'bool', true),
  getTableNamesByPattern: method(
    'getTableNamesByPattern',
    { 1: ['pattern', text], 2: ['withSystemTables', 'bool'] },
    { list: structs.tableName },
    true,
  ),
  createTable: method('createTable', { 1: ['descriptor', structs.tableDescriptor] }, undefined),
  deleteTable: method('deleteTable', named, undefined),
  truncateTable: method('truncateTable', { ...named, 2: ['preserveSplits', 'bool'] }, undefined),
  enableTable: method('enableTable', named, undefined),
  disableTable: method('disableTable', named, undefined),
  isTableEnabled: method('isTableEnabled', named, 'bool', true),
  modifyTable: method('modifyTable', { 1: ['descriptor', structs.tableDescriptor] }, undefined),
  createNamespace: method('createNamespace', { 1: ['namespace', structs.namespace] }, undefined),
  deleteNamespace: method('deleteNamespace', { 1: ['name', text] }, undefined),
  listNamespaces: method('listNamespaces', {}, { list: text }, true),
  getThriftServerType: method('getThriftServerType', {}, 'i32', true),
} as const
