/**
 * Who may import whom. `test/rules/layers.test.ts` runs these rules; by hand:
 *
 *   npx depcruise --config .dependency-cruiser.cjs src native-free bench test
 *
 * A folder of `src` imports its own files and folders of lower levels. A folder that is not listed
 * here may not exist.
 */
'use strict'

/** Folders of src by level, lowest first. */
const levels = [
  ['base'],
  ['storage/fs', 'storage/codec', 'storage/cursor'],
  ['storage/cell', 'storage/record'],
  ['storage/wal', 'storage/memtable', 'storage/sstable', 'storage/filter', 'storage/coprocessor'],
  ['storage/version', 'storage/scan'],
  ['storage/files'],
  ['storage/job', 'storage/compaction'],
  ['storage/store'],
  ['storage/engine'],
  ['api'],
  ['checks', 'comfort'],
  ['table', 'hbase/thrift'],
  ['hbase/owned', 'hbase/hfile'],
  ['hbase/move'],
  ['systems/bytes', 'http', 'level', 'metrics'],
  ['systems/metastore', 'systems/transactions', 'systems/search'],
  ['systems/messaging', 'systems/repository'],
  ['server'],
  ['entries'],
  ['cli'],
]

/**
 * Folders that are built on tables. Of the layers below they see `src/api/` and `src/comfort/` only,
 * so that another backend can stand in for the embedded engine. Their users open the database.
 */
const builtOnTables = [
  'systems/bytes',
  'http',
  'systems/metastore',
  'systems/transactions',
  'systems/search',
  'systems/repository',
  'level',
  'metrics',
  'systems/messaging',
  'server',
]

/**
 * Imports between two folders of one level that are allowed all the same: `{ from, to, reason }`.
 * There are none today.
 */
const sameLevelExceptions = []

const folders = levels.flat()
const outsideEngine = [...builtOnTables, 'api', 'comfort', 'entries', 'cli']
const engineFolders = folders.filter((folder) => !outsideEngine.includes(folder))

function isException(from, to) {
  return sameLevelExceptions.some((entry) => entry.from === from && entry.to === to)
}

/** Modules that flush and compaction jobs load in their threads. */
const hookFolder = '^src/systems/(messaging|transactions)/prune-job/'

/** One rule per folder that names everything on its level and above. */
const layerRules = levels.flatMap((level, index) =>
  level.map((folder) => {
    const above = levels.slice(index).flat()
    const refused = above.filter((other) => other !== folder && !isException(folder, other))
    const onTables = builtOnTables.includes(folder)
    const targets = [...refused, ...(onTables ? engineFolders : [])].map((other) => `${other}/`)
    return {
      name: `layer-${folder.replace('/', '-')}`,
      comment: `src/${folder} is on level ${index} and imports lower levels only.`,
      severity: 'error',
      from: { path: `^src/${folder}/`, pathNot: hookFolder },
      // The highest folder may import all others.
      to: { path: targets.length === 0 ? '^$' : `^src/(${targets.join('|')})` },
    }
  }),
)

/**
 * The subfolders of a folder of src, lowest first: each imports lower ones only. The files beside
 * the subfolders use all of them, and no subfolder uses the files beside, but for `shared` ones.
 */
const rooms = {
  table: {
    order: ['arguments', 'reads', 'operations', 'observers', 'calls', 'admin', 'transfer'],
    shared: [],
  },
  comfort: { order: ['keys', 'indexes'], shared: ['tables'] },
  'hbase/thrift': { order: ['wire'], shared: [] },
  'systems/transactions': {
    order: ['prune-job', 'manager', 'tables', 'tephra'],
    shared: ['checks', 'errors', 'options', 'participant', 'transaction', 'transaction-snapshot'],
  },
  'systems/messaging': {
    order: ['prune-job', 'topics', 'store', 'live', 'publish', 'fetch'],
    shared: ['errors', 'message-id', 'options', 'types'],
  },
  'systems/metastore': {
    order: [
      'kernel',
      'records',
      'metadata',
      'zookeeper',
      'coordination',
      'pulsar',
      'bookkeeper',
      'hedwig',
    ],
    shared: ['errors'],
  },
  'systems/repository/records': {
    order: ['reads', 'writes', 'unique'],
    shared: ['field-values', 'metadata', 'ordered-row', 'record', 'record-state', 'table-context'],
  },
  'systems/metastore/bookkeeper': {
    order: ['tables', 'ledgers'],
    shared: ['arguments', 'keys', 'types', 'value'],
  },
  'systems/repository': {
    order: [
      'values',
      'schema',
      'records',
      'fields',
      'blobs',
      'json',
      'tables',
      'links',
      'events',
      'extraction',
      'manager',
      'indexer',
      'import',
    ],
    shared: [
      'errors',
      'link',
      'pieces',
      'qualified-name',
      'record-id',
      'stored-cells',
      'thrown',
      'value-kinds',
    ],
  },
  'systems/repository/extraction': { order: ['formats'], shared: [] },
  'systems/repository/indexer': {
    order: ['definition', 'documents'],
    shared: ['index-context', 'index-rows'],
  },
  'systems/search': {
    order: ['embedded'],
    shared: ['analysis', 'field-kinds', 'query-syntax', 'search-backend'],
  },
  'systems/search/embedded': { order: ['segments'], shared: ['doc-sets'] },
}

const roomRules = Object.entries(rooms).flatMap(([folder, { order, shared }]) =>
  order.map((room, index) => ({
    name: `${folder.replaceAll('/', '-')}-${room.replaceAll('/', '-')}`,
    comment: `src/${folder}/${room} imports lower rooms of src/${folder}, and no file beside the rooms.`,
    severity: 'error',
    from: { path: `^src/${folder}/${room}/` },
    to: {
      path: [
        `^src/${folder}/[^/]+\\.ts$`,
        ...order.slice(index + 1).map((other) => `^src/${folder}/${other}/`),
      ].join('|'),
      ...(shared.length === 0
        ? {}
        : { pathNot: shared.map((name) => `^src/${folder}/${name}\\.ts$`).join('|') }),
    },
  })),
)

const packageTypes = ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown']

module.exports = {
  forbidden: [
    ...layerRules,
    ...roomRules,
    {
      name: 'api-knows-no-backend',
      comment: 'The seam imports what describes cells, filters and settings, and no engine.',
      severity: 'error',
      from: { path: '^src/(api|checks|comfort)/' },
      to: {
        path: '^src/',
        pathNot: '^src/(api|checks|comfort|base|storage/(cell|filter|coprocessor|compaction))/',
      },
    },
    {
      name: 'systems-know-no-http',
      comment:
        'The routes and the client of a system lie in its folder `http`, above the rest of it.',
      severity: 'error',
      from: { path: '^src/systems/', pathNot: '^src/systems/[^/]+/http/' },
      to: { path: '^src/http/|^src/systems/[^/]+/http/' },
    },
    {
      name: 'cell-hooks-are-light',
      comment: 'What jobs load in their threads imports no more than a cell hook needs.',
      severity: 'error',
      from: { path: hookFolder },
      to: { pathNot: `^src/(base|storage/(cell|coprocessor))/|${hookFolder}` },
    },
    {
      name: 'unknown-folder',
      comment: 'A new folder of src gets a level in .dependency-cruiser.cjs first.',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(${folders.join('|')})/` },
      to: {},
    },
    {
      name: 'no-cycle',
      // A circle that a type-only import closes is erased by the compiler: an interface may name the
      // class behind it. Between folders the layer rules forbid those circles too.
      comment: 'Files do not import each other in circles when the program runs.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-unresolvable',
      comment: 'Every import leads to a file or to an installed package.',
      severity: 'error',
      from: {},
      // The optional packages may be absent, and a peer of the benchmarks is installed by hand.
      to: { couldNotResolve: true, pathNot: '^(lz4-napi|piscina)$' },
    },
    {
      name: 'native-free-stands-alone',
      comment: 'native-free imports itself and src/base: no package, nothing of Node, no addon.',
      severity: 'error',
      from: { path: '^native-free/' },
      to: { pathNot: '^(native-free|src/base)/' },
    },
    {
      name: 'native-free-through-codec',
      comment: 'Only src/storage/codec chooses between native-free and addons.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/storage/codec/' },
      to: { path: '^native-free/' },
    },
    {
      name: 'packages-through-codec',
      comment:
        'src/storage/codec imports lz4-napi and xxhash-wasm, regular expressions re2js, ' +
        'the command commander; no other file of the engine names a package.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `^src/((storage/codec|${builtOnTables.join('|')})/|(storage/filter/regular-expression|cli/.+)\\.ts$)`,
      },
      to: { dependencyTypes: packageTypes },
    },
    {
      name: 'packages-of-records',
      comment: 'src/systems/metastore/records imports @bufbuild/protobuf and no other package.',
      severity: 'error',
      from: { path: '^src/systems/metastore/records/' },
      to: { dependencyTypes: packageTypes, pathNot: '(^|/)@bufbuild/protobuf/' },
    },
    {
      name: 'packages-of-codec',
      comment: 'src/storage/codec imports no package but lz4-napi and xxhash-wasm.',
      severity: 'error',
      from: { path: '^src/storage/codec/' },
      to: { dependencyTypes: packageTypes, pathNot: '(^|/)(lz4-napi|xxhash-wasm)(/|$)' },
    },
    {
      name: 'file-system-is-injected',
      comment:
        'Only the file system of the machine and its lock import node:fs, the command line for the ' +
        'files that its caller names, and pages for their own.',
      severity: 'error',
      from: {
        path: '^(src|native-free)/',
        pathNot:
          '^src/(storage/fs/(node-fs|node-file|directory-handle|lock|lock-file|lock-owner|lock-socket|' +
          'own-file)|http/page-file|cli/.+)\\.ts$',
      },
      to: { path: '^(node:)?fs(/promises)?$', dependencyTypes: ['core'] },
    },
    {
      name: 'source-knows-no-test',
      comment: 'Nothing that is published imports tests or benchmarks.',
      severity: 'error',
      from: { path: '^(src|native-free)/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'suites-see-the-seam',
      comment: 'Suites run on any backend: they see the systems and src/api, and no engine.',
      severity: 'error',
      from: { path: '^test/suites/' },
      to: { path: `^(src/(${engineFolders.join('|')})/|src/entries/index\\.ts|test/(?!suites/))` },
    },
    {
      name: 'bench-uses-the-public-api',
      comment: 'Benchmarks measure what users call; only bench/micro and bench/turns reach inside.',
      severity: 'error',
      from: { path: '^bench/', pathNot: '^bench/(micro|turns)/' },
      to: {
        path: '^(src|native-free)/',
        pathNot:
          '^src/((systems/(metastore|metastore/pulsar|messaging|repository|transactions)|server)/index|entries/(index|level|hbase))\\.ts$',
      },
    },
    {
      name: 'bench-knows-no-test',
      comment: 'Benchmarks do not lean on helpers of tests.',
      severity: 'error',
      from: { path: '^bench/' },
      to: { path: '^test/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(build|\\.tap|data|bench/peers)/' },
    // Type-only imports count: they bind layers to each other as well.
    tsPreCompilationDeps: true,
    combinedDependencies: false,
    // No rule asks who depends on a module, and that takes a quarter of the time.
    skipAnalysisNotInRules: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.d.ts'],
    },
  },
}
