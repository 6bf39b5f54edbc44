/** Tables of a live Apache HBase. The public entry `cellardb/hbase`. */
export type { HBaseAdmin } from '../hbase/thrift/admin.js'
export { connectHBase, type HBaseDatabase } from '../hbase/thrift/database.js'
export { HBaseErrorCode } from '../hbase/thrift/errors.js'
export type { GatewayAddress, HBaseOptions } from '../hbase/thrift/options.js'
export type { HBaseTable } from '../hbase/thrift/table.js'
