/** Names of tables, namespaces and snapshots. */
export {
  checkNamespaceName,
  checkSnapshotName,
  newTableName,
  plainTableName,
  systemNamespace,
} from '../../api/checks/names.js'
