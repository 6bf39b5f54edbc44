/**
 * House rules that no tool of others checks: headers, docstrings, sizes, banned constructs.
 *
 * Each rule is a function from a parsed file to complaints, `path:line what`; each is also shown a
 * sample that breaks it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { filesBelow, parse, placeOf, projectRoot, sourceFiles, visitNodes } from './support.js'
import type { SourceFile } from './support.js'

const linesMax = 600
const functionLinesMax = 70
const columnsMax = 100

/** Files that may be longer than {@link linesMax}, with the reason. */
const longFiles: Readonly<Record<string, string>> = {}

/** Folders of src whose files begin with a comment that says what they are for. */
const headedFolders = new RegExp(
  '^(native-free|src/(storage/(wal|record|memtable|sstable|version|job|store|engine|fs|cursor|' +
    'scan)|systems|http|server))/',
)

/** Folders that define bytes on disk; each has a FORMAT.md. */
const formatFolders = [
  'storage/codec',
  'storage/cell',
  'storage/record',
  'storage/wal',
  'storage/sstable',
  'storage/version',
  'storage/engine',
  'systems/messaging',
  'systems/repository',
]

/** The sources, and the suites of cases, of which three are published. */
const published = sourceFiles('src', 'native-free', 'test/suites')
const everything = [...sourceFiles('src', 'native-free', 'test', 'bench')]

type Rule = (file: SourceFile) => string[]

/** Adds a test that a rule holds for files, and that it is broken by a sample. */
function enforce(
  name: string,
  files: readonly SourceFile[],
  rule: Rule,
  bad: SourceFile,
  badPlaces: readonly string[],
): void {
  void t.test(name, (t) => {
    t.strictSame(files.flatMap(rule), [], `no complaints about ${files.length} files`)
    const complaints = rule(bad)
    t.strictSame(
      complaints.map((complaint) => complaint.split(' ')[0]),
      badPlaces,
      'the rule finds what breaks it',
    )
    t.end()
  })
}

/** Rooms whose classes users hold: what they hide is out of reach, and is not printed. */
const heldFolders = /^src\/(api|checks|comfort|http|level|server|systems)\//
/**
 * Rooms of the engine, whose fields stay visible in a debugger; `table` has classes of both kinds.
 */
const engineFolders = /^(native-free|src\/(base|storage))\//

function hiddenMembers(file: SourceFile): string[] {
  const isHeld = heldFolders.test(file.path)
  if (!isHeld && !engineFolders.test(file.path)) return []
  const found: string[] = []
  visitNodes(file.tree, (node) => {
    if (!ts.isClassElement(node) || ts.isConstructorDeclaration(node)) return
    const isPrivate = ts.canHaveModifiers(node)
      ? ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)
      : false
    const isHash = node.name !== undefined && ts.isPrivateIdentifier(node.name)
    if (isHeld && isPrivate) found.push(`${placeOf(file, node)} is private and not #`)
    if (!isHeld && isHash) found.push(`${placeOf(file, node)} has # and not private`)
  })
  return found
}

function longFile(file: SourceFile): string[] {
  const lines = file.text.split('\n').length - 1
  if (lines <= linesMax || Object.hasOwn(longFiles, file.path)) return []
  return [`${file.path}:${linesMax + 1} has ${lines} lines, at most ${linesMax} are allowed`]
}

/** The names of the options in each call of `declareOptions`. */
function declaredNames(file: SourceFile): ReadonlySet<string>[] {
  const found: ReadonlySet<string>[] = []
  visitNodes(file.tree, (node) => {
    if (!ts.isCallExpression(node)) return
    if (node.expression.getText(file.tree) !== 'declareOptions') return
    const [, declared] = node.arguments
    if (declared === undefined || !ts.isObjectLiteralExpression(declared)) return
    found.push(new Set(declared.properties.map(({ name }) => name?.getText(file.tree) ?? '')))
  })
  return found
}

/** Interfaces and lists of names that say again what a declaration of options says. */
function repeatedOptions(file: SourceFile): string[] {
  const declarations = declaredNames(file)
  const found: string[] = []
  const judge = (node: ts.Node, names: readonly (string | undefined)[]): void => {
    const isRepeated = declarations.some((declared) => {
      return names.length > 1 && names.every((name) => name !== undefined && declared.has(name))
    })
    if (isRepeated) found.push(`${placeOf(file, node)} repeats declared options`)
  }
  visitNodes(file.tree, (node) => {
    // A declaration has no types of its own: an interface with them must name its members.
    if (ts.isInterfaceDeclaration(node) && node.typeParameters === undefined) {
      if (!/Options$/.test(node.name.text)) return
      const names = node.members.map(({ name }) => name?.getText(file.tree))
      judge(node, names)
    }
    if (ts.isArrayLiteralExpression(node)) {
      judge(
        node,
        node.elements.map((each) => (ts.isStringLiteral(each) ? each.text : undefined)),
      )
    }
  })
  return found
}

/** Lines of a function that hold more than blanks and comments. */
function codeLines(file: SourceFile, node: ts.Node): number {
  const lines = file.text.slice(node.getStart(file.tree), node.getEnd()).split('\n')
  return lines.filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length
}

function longFunctions(file: SourceFile): string[] {
  const found: string[] = []
  visitNodes(file.tree, (node) => {
    if (!ts.isFunctionLike(node)) return
    const lines = codeLines(file, node)
    if (lines <= functionLinesMax) return
    found.push(`${placeOf(file, node)} has ${lines} lines, at most ${functionLinesMax} are allowed`)
  })
  return found
}

/** What cannot be broken: a string alone, an import of one name, a comment with an address. */
const unbreakable = /^\s*(['"`]).*\1( \+|,)?$|^import (type )?\{ \S+ \} from|https?:\/\/\S{60}/

function longLines(file: SourceFile): string[] {
  return file.text.split('\n').flatMap((line, index) => {
    const tooLong = line.length > columnsMax && !unbreakable.test(line)
    return tooLong ? [`${file.path}:${index + 1} has ${line.length} columns`] : []
  })
}

function missingHeader(file: SourceFile): string[] {
  if (!headedFolders.test(file.path) || file.text.startsWith('/**')) return []
  return [`${file.path}:1 does not begin with a comment that says what the file is for`]
}

/** What an exported statement declares, for the complaint. */
function declaredName(statement: ts.Statement): string {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText()).join(', ')
  }
  return (statement as ts.DeclarationStatement).name?.getText() ?? 'declaration'
}

function hasModifier(statement: ts.Statement, kind: ts.SyntaxKind): boolean {
  if (!ts.canHaveModifiers(statement)) return false
  return ts.getModifiers(statement)?.some((modifier) => modifier.kind === kind) ?? false
}

/** Files that package.json leads to: the only ones that gather what others export. */
const publicEntries = [
  'src/entries/index.ts',
  'src/systems/metastore/index.ts',
  'src/systems/messaging/index.ts',
  'src/systems/repository/index.ts',
  'src/systems/transactions/index.ts',
  'src/server/index.ts',
  'test/suites/metadata/suite.ts',
  'test/suites/metastore/suite.ts',
  'test/suites/table/suite.ts',
]

/** Names that the package exports: users see their docstrings in the editor. */
const publicNames = new Set(
  published
    .filter((file) => publicEntries.includes(file.path))
    .flatMap((file) => file.tree.statements.filter(ts.isExportDeclaration))
    .flatMap(({ exportClause }) => {
      if (exportClause === undefined || !ts.isNamedExports(exportClause)) return []
      return exportClause.elements.map(({ name }) => name.text)
    }),
)

/**
 * Whether a statement is documented by the header of its file: the only class that an internal file
 * exports is what the header is about. A public class needs words of its own.
 */
function isSubjectOfHeader(file: SourceFile, statement: ts.Statement): boolean {
  if (!ts.isClassDeclaration(statement) || !file.text.startsWith('/**')) return false
  const classes = file.tree.statements.filter(
    (other) => ts.isClassDeclaration(other) && hasModifier(other, ts.SyntaxKind.ExportKeyword),
  )
  return classes.length === 1 && !publicNames.has(declaredName(statement))
}

/** Whether a docstring of its own stands in front: the header of the file is none. */
function hasDocstring(file: SourceFile, statement: ts.Statement): boolean {
  const comments = ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc)
  // A file without imports that declares one thing may say everything in its header.
  const isFirst = file.tree.statements[0] === statement
  const own = comments.filter((comment) => isFirst || comment.getStart(file.tree) > 0)
  return own.length > 0 || isSubjectOfHeader(file, statement)
}

function missingDocstrings(file: SourceFile): string[] {
  const documented = new Set<string>()
  const found: string[] = []
  for (const statement of file.tree.statements) {
    if (!hasModifier(statement, ts.SyntaxKind.ExportKeyword)) continue
    const name = declaredName(statement)
    // One docstring is enough for the overloads of a function.
    if (hasDocstring(file, statement)) documented.add(name)
    else if (!documented.has(name)) {
      found.push(`${placeOf(file, statement)} exported ${name} has no docstring`)
    }
  }
  return found
}

function isTopLevelAwait(node: ts.Node): boolean {
  const awaits =
    ts.isAwaitExpression(node) || (ts.isForOfStatement(node) && node.awaitModifier !== undefined)
  if (!awaits) return false
  for (let at = node.parent; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isFunctionLike(at)) return false
  }
  return true
}

/** `export *` hides what is exported; of types, which are erased, the entry may export all. */
function isStarExport(node: ts.Node): boolean {
  return ts.isExportDeclaration(node) && node.exportClause === undefined && !node.isTypeOnly
}

/** An entry of the package may export all of one index, beside what it sets up for it. */
function isEntry(file: SourceFile): boolean {
  return file.path.startsWith('src/entries/')
}

/** Constructs that make `require` of the package fail, or that need more than erased types. */
function bannedConstructs(file: SourceFile): string[] {
  const found: string[] = []
  visitNodes(file.tree, (node) => {
    if (ts.isEnumDeclaration(node)) found.push(`${placeOf(file, node)} enum`)
    else if (isTopLevelAwait(node)) found.push(`${placeOf(file, node)} top-level await`)
    else if (ts.isExportAssignment(node)) found.push(`${placeOf(file, node)} default export`)
    else if (node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent)) {
      found.push(`${placeOf(file, node)} default export`)
    } else if (isStarExport(node) && !isEntry(file)) {
      found.push(`${placeOf(file, node)} export of everything`)
    }
  })
  return found
}

/** Time and randomness that are not injected. */
function ambientInputs(file: SourceFile): string[] {
  if (file.path === 'src/base/clock.ts') return []
  const found: string[] = []
  visitNodes(file.tree, (node) => {
    const text = ts.isPropertyAccessExpression(node) ? node.getText(file.tree) : ''
    if (text === 'Math.random' || text === 'Date.now') found.push(`${placeOf(file, node)} ${text}`)
    const isDate = ts.isNewExpression(node) && node.expression.getText(file.tree) === 'Date'
    if (isDate && (node.arguments ?? []).length === 0) {
      found.push(`${placeOf(file, node)} new Date()`)
    }
  })
  return found
}

/** A section of a page that no reader of the repository has: the reason has to be said itself. */
const outsideReference = /\b(spec|design|issue) (?:D?\d+(?:\.\d+)*)\b|\(D\d+\)|\bhouse\.md\b/

function outsideReferences({ path, text }: Pick<SourceFile, 'path' | 'text'>): string[] {
  return text.split('\n').flatMap((line, index) => {
    const found = outsideReference.exec(line)
    return found === null ? [] : [`${path}:${index + 1} ${found[0]} is no page of the repository`]
  })
}

/** Notes of work left undone. Put together so that this file does not complain about itself. */
const notes = new RegExp(
  `\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`,
)

function unfinishedNotes(file: SourceFile): string[] {
  return file.text.split('\n').flatMap((line, index) => {
    const note = notes.exec(line)
    return note === null ? [] : [`${file.path}:${index + 1} ${note[1]}`]
  })
}

/** `skip: true`, `t.skip()` without a sentence, and `only`, which silences all other tests. */
function silentSkips(file: SourceFile): string[] {
  const found: string[] = []
  visitNodes(file.tree, (node) => {
    if (ts.isPropertyAssignment(node) && /^(skip|todo|only)$/.test(node.name.getText(file.tree))) {
      if (node.initializer.kind === ts.SyntaxKind.TrueKeyword) {
        found.push(`${placeOf(file, node)} ${node.getText(file.tree)} without a reason`)
      }
    }
    if (!ts.isCallExpression(node)) return
    const called = node.expression.getText(file.tree)
    if (/^t(\.test)?\.only$/.test(called)) found.push(`${placeOf(file, node)} ${called}`)
    if (/^t\.(skip|todo)$/.test(called) && node.arguments.length === 0) {
      found.push(`${placeOf(file, node)} ${called} without a reason`)
    }
  })
  return found
}

/** Numbers of HBase's cases: the only cases that have numbers, in suites/table/suite.ts. */
const hbaseCases = new Set(
  sourceFiles('test/suites/table', 'test/conformance/hbase').flatMap(({ text }) =>
    [...text.matchAll(/^(?: *number: (\d+),| {2}\[(\d+), ')/gm)].map(([, a, b]) => Number(a ?? b)),
  ),
)

/** Numbers of cases that name no case of HBase: elsewhere a case is named by a sentence. */
function unknownCases(file: SourceFile): string[] {
  return file.text.split('\n').flatMap((line, index) => {
    const mentions = line.matchAll(/(?:\/\/|\*|').*?\bcases? (\d+)(?!.*:$)/gi)
    return [...mentions]
      .filter(([, number]) => !hbaseCases.has(Number(number)))
      .map(([, number]) => `${file.path}:${index + 1} there is no case ${number}`)
  })
}

const tests = everything.filter((file) => file.path.startsWith('test/'))

enforce(
  `no file has more than ${linesMax} lines`,
  everything,
  longFile,
  parse('src/a.ts', 'const a = 1\n'.repeat(linesMax + 1)),
  ['src/a.ts:601'],
)
enforce(
  `no function of src has more than ${functionLinesMax} lines`,
  published,
  longFunctions,
  parse('src/a.ts', `function a() {\n${'  a()\n'.repeat(functionLinesMax)}}\n`),
  ['src/a.ts:1'],
)
enforce(
  `no line has more than ${columnsMax} columns`,
  everything,
  longLines,
  parse('src/a.ts', `\n// ${'a'.repeat(columnsMax)}\n// https://${'a'.repeat(columnsMax)}\n`),
  ['src/a.ts:2'],
)
enforce(
  'every file of every room begins with a header comment',
  published,
  missingHeader,
  parse('src/storage/wal/a.ts', "import { a } from './b.js'\n/** Comes too late. */\n"),
  ['src/storage/wal/a.ts:1'],
)
enforce(
  'everything that src exports has a docstring',
  published,
  missingDocstrings,
  parse(
    'src/a.ts',
    '/** Header. */\nimport { b } from "b"\nexport class A {}\n/** Good. */\nexport const c = 1\n' +
      'export const d = 1\nexport interface E {}\nexport type F = 1\nexport function g() {}\n' +
      'export class H {}\nconst i = 1\nexport { i }\n',
  ),
  ['src/a.ts:3', 'src/a.ts:6', 'src/a.ts:7', 'src/a.ts:8', 'src/a.ts:9', 'src/a.ts:10'],
)
enforce(
  'src has no enum, default export, star export or top-level await',
  published,
  bannedConstructs,
  parse(
    'src/base/a.ts',
    'enum A { b }\nexport default 1\nexport default function c() {}\nawait c()\n' +
      "for await (const d of e) {}\nexport * from './b.js'\n" +
      'async function f() { await c()\n switch (1) { default: } }\n',
  ),
  [
    'src/base/a.ts:1',
    'src/base/a.ts:2',
    'src/base/a.ts:3',
    'src/base/a.ts:4',
    'src/base/a.ts:5',
    'src/base/a.ts:6',
  ],
)
enforce(
  'src takes time and randomness from outside',
  published,
  ambientInputs,
  parse('src/a.ts', 'Math.random()\nDate.now()\nnew Date()\nnew Date(5)\n'),
  ['src/a.ts:1', 'src/a.ts:2', 'src/a.ts:3'],
)
enforce(
  'no comment refers to pages outside the repository',
  everything,
  outsideReferences,
  // Put together so that this file does not complain about itself.
  parse('src/a.ts', `// ${'design'} D3\n// (${'spec'} 1.2)\n// (${'D'}7)\n// aspect 12, D3\n`),
  ['src/a.ts:1', 'src/a.ts:2', 'src/a.ts:3'],
)
enforce(
  'no notes of work left undone',
  everything,
  unfinishedNotes,
  parse('src/a.ts', `// ${'TO' + 'DO'}: later\n// ${'FIX' + 'ME'}\n`),
  ['src/a.ts:1', 'src/a.ts:2'],
)
enforce(
  'no test is skipped without a reason',
  tests,
  silentSkips,
  parse(
    'test/a.ts',
    "t.test('a', { skip: true })\nt.test('b', { skip: 'no zstd here' })\nt.skip()\nt.only('c')\n",
  ),
  ['test/a.ts:1', 'test/a.ts:3', 'test/a.ts:4'],
)

enforce(
  'a case that is named by a number exists',
  everything,
  unknownCases,
  parse('test/a.ts', `// Case ${hbaseCases.size > 0 ? 1 : 0}.\n// see ${'case'} 9999\n`),
  ['test/a.ts:2'],
)

enforce(
  'an option is declared once',
  published,
  repeatedOptions,
  parse(
    'src/api/a.ts',
    "const options = declareOptions('a', {\n  one: text(''),\n  two: text(''),\n})\n" +
      'export interface AOptions {\n  readonly one?: string\n  readonly two?: string\n}\n' +
      "const names = ['one', 'two']\nexport interface BOptions<T> {\n  one: T\n  two: T\n}\n",
  ),
  ['src/api/a.ts:5', 'src/api/a.ts:9'],
)

enforce(
  'classes that users hold hide their members with #, those of the engine with private',
  published,
  hiddenMembers,
  parse('src/level/a.ts', 'class A {\n  private a = 1\n  #b = 2\n  private constructor() {}\n}\n'),
  ['src/level/a.ts:2'],
)
enforce(
  'the rooms of the engine have no members with #',
  published,
  hiddenMembers,
  parse('src/storage/wal/a.ts', 'class A {\n  private a = 1\n  #b = 2\n}\n'),
  ['src/storage/wal/a.ts:3'],
)

void t.test('folders that define bytes on disk have a FORMAT.md', (t) => {
  for (const folder of formatFolders) {
    t.ok(existsSync(join(projectRoot, 'src', folder, 'FORMAT.md')), `src/${folder}/FORMAT.md`)
  }
  for (const file of published) {
    if (!/\bFORMAT\.md\b/.test(file.text)) continue
    // A mention without a folder means the one of the folder, or of the folder above.
    const elsewhere = /[\w-]+\/FORMAT\.md/.test(file.text)
    const isNear = ['.', '..'].some((step) => {
      return existsSync(join(projectRoot, dirname(file.path), step, 'FORMAT.md'))
    })
    if (!elsewhere) t.ok(isNear, `${file.path} refers to a FORMAT.md that exists`)
  }
  t.end()
})

void t.test('documents link to files that exist', (t) => {
  const isDocument = (path: string): boolean => path.endsWith('.md')
  const documents = ['src', 'native-free', 'test', 'bench'].flatMap((folder) =>
    filesBelow(folder, isDocument),
  )
  for (const path of documents) {
    const text = readFileSync(join(projectRoot, path), 'utf8')
    for (const [, target] of text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      t.ok(existsSync(join(projectRoot, dirname(path), target)), `${path} links to ${target}`)
    }
  }
  t.end()
})

const documents = [
  ...['docs', 'src', 'native-free', 'test', 'bench'].flatMap((folder) =>
    filesBelow(folder, (path) => path.endsWith('.md')),
  ),
  'README.md',
]

/** Lines that are too long. Rows of tables and code may be, and an address that stands alone. */
function longProse(path: string, text: string): string[] {
  let isCode = false
  return text.split('\n').flatMap((line, index) => {
    const isFence = /^\s*(```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    const mayBeLong = isFence || isCode || /^\s*\|/.test(line) || /^\S*https?:\/\/\S+$/.test(line)
    return mayBeLong || line.length <= columnsMax ? [] : [`${path}:${index + 1}`]
  })
}

void t.test(`lines of documents have at most ${columnsMax} columns, tables excepted`, (t) => {
  const long = 'a '.repeat(columnsMax)
  const sample = [long, `| ${long}|`, '```', long, '```', long].join('\n')
  t.strictSame(longProse('a.md', sample), ['a.md:1', 'a.md:6'], 'the rule finds what breaks it')
  for (const path of documents) {
    t.strictSame(longProse(path, readFileSync(join(projectRoot, path), 'utf8')), [], path)
  }
  t.end()
})

void t.test('no document refers to pages outside the repository', (t) => {
  for (const path of documents) {
    const text = readFileSync(join(projectRoot, path), 'utf8')
    t.strictSame(outsideReferences({ path, text }), [], path)
  }
  t.end()
})
