// The script of the console. It makes elements and sets their text; it knows no HTML.
'use strict'
const element = (id) => document.getElementById(id)
const everyMilliseconds = 2000
let before

async function load() {
  const token = element('token').value
  const headers = token === '' ? {} : { authorization: 'Bearer ' + token }
  const response = await fetch('/console/state', { headers })
  const body = await response.json()
  if (!response.ok) throw new Error(response.status + ' ' + body.code + ': ' + body.message)
  return body
}

function say(text) {
  element('message').textContent = text
  element('message').className = text === '' ? '' : 'bad'
}

async function show() {
  try {
    const state = await load()
    say('')
    draw(state)
    document.querySelector('main').hidden = false
    before = state
  } catch (error) {
    say(error.message)
  }
}

function make(tag, content, className) {
  const made = document.createElement(tag)
  if (className) made.className = className
  made.dir = 'auto'
  if (content instanceof Node) made.append(content)
  else if (content !== undefined) made.textContent = content
  return made
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

function size(bytes) {
  const unit = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10))
  return (unit === 0 ? bytes : (bytes / 1024 ** unit).toFixed(1)) + ' ' + units[unit]
}

const whole = (number) => Math.round(number).toLocaleString('en')

function span(seconds) {
  if (seconds < 90) return Math.round(seconds) + ' s'
  if (seconds < 5400) return Math.round(seconds / 60) + ' min'
  return seconds < 172800 ? Math.round(seconds / 3600) + ' h' : Math.round(seconds / 86400) + ' d'
}

function time(microseconds) {
  if (microseconds < 1000) return microseconds.toFixed(0) + ' µs'
  if (microseconds < 1e6) return (microseconds / 1000).toFixed(1) + ' ms'
  return (microseconds / 1e6).toFixed(1) + ' s'
}

function bytesText(bytes) {
  return typeof bytes === 'object' ? 'base64:' + bytes.base64 : bytes || ''
}

function figure(name, value, note, bar) {
  const made = make('div', undefined, 'figure')
  made.append(make('span', name), make('b', value), make('span', note))
  if (bar) made.append(bar)
  return made
}

function meter(value, max, isBadWhenHigh) {
  const made = document.createElement('meter')
  made.max = max
  made.low = max * (isBadWhenHigh ? 0.5 : 0.1)
  made.high = max * 0.9
  made.optimum = isBadWhenHigh ? 0 : max
  made.value = value
  return made
}

function draw(state) {
  const { statistics: all, health } = state
  element('directory').textContent = state.directory || 'another process leads'
  element('health').replaceChildren(
    ...Object.entries(health.systems).map(([name, status]) => {
      return make('span', name + ': ' + status, status === 'ok' ? 'ok' : 'bad')
    }),
  )
  drawTable('slow', state.slow, {
    when: ({ at }) => new Date(at).toLocaleTimeString('en', { hour12: false }),
    operation: ({ kind }) => kind,
    table: ({ table, family }) => (family ? table + ':' + family : table || '(several)'),
    row: ({ row }) => bytesText(row),
    took: ({ milliseconds }) => number(time(milliseconds * 1000)),
  })
  drawTable('topics', state.topics, {
    topic: ({ namespace, topic }) => namespace + ':' + topic,
    published: ({ messagesPublished }) => number(whole(messagesPublished)),
    size: ({ bytesPublished }) => number(size(bytesPublished)),
    fetched: ({ messagesFetched }) => number(whole(messagesFetched)),
    'consumers behind': ({ consumers }) => {
      const lags = consumers.map((each) => each.consumer + ' ' + time(each.lagMilliseconds * 1000))
      return lags.join(', ')
    },
  })
  drawTable('locks', state.locks, {
    path: ({ path }) => path,
    session: ({ session }) => number(String(session)),
    table: ({ table }) => table,
  })
  if (all === undefined) return
  drawFigures(state, all)
  drawJobs(all.jobs)
  drawTables(all.tables)
}

function number(text) {
  return make('span', text, 'number')
}

function drawFigures(state, all) {
  const count = ({ latencies }) => {
    const kinds = ['get', 'scan', 'put', 'delete', 'update', 'checkAndMutate', 'batch']
    return kinds.reduce((sum, kind) => sum + latencies[kind].count, 0)
  }
  const seconds = before === undefined ? 0 : (state.at - before.at) / 1000
  const done = before && before.statistics ? count(all) - count(before.statistics) : 0
  const { hits, misses, bytesUsed } = all.blockCache
  const { pressure, device, lastBackup, transactions } = { ...all, ...state }
  const asked = hits + misses
  const made = [
    figure(
      'Operations',
      seconds > 0 ? whole(done / seconds) + ' / s' : '–',
      whole(count(all)) + ' since the open',
    ),
    figure(
      'Writers',
      all.poisoned ? 'read-only' : pressure.state === 'none' ? 'free' : pressure.state,
      whole(all.stalls + all.compactionStalls) + ' stalls, ' + all.waitingCalls + ' wait',
      meter(pressure.level, 1, true),
    ),
    figure('Memtables', size(all.memtableBytes), 'log ' + size(all.logBytes)),
    figure(
      'Files',
      size(all.tableFileBytes + all.valueFileBytes),
      all.tableFiles + ' SSTables, ' + all.valueFiles + ' value files',
    ),
    figure(
      'Block cache',
      asked === 0 ? '–' : ((100 * hits) / asked).toFixed(1) + ' % hits',
      size(bytesUsed) + ' used',
    ),
    figure(
      'Last backup',
      lastBackup ? span((state.at - lastBackup.milliseconds) / 1000) + ' ago' : 'none known',
      lastBackup ? size(lastBackup.bytes) : '',
    ),
  ]
  if (device) {
    const note = 'free of ' + size(device.totalBytes)
    const bar = meter(device.freeBytes, device.totalBytes, false)
    made.push(figure('Disk', size(device.freeBytes), note, bar))
  }
  if (transactions) {
    const { inProgress, invalid } = transactions
    made.push(figure('Transactions', inProgress + ' running', invalid + ' invalid'))
  }
  if (all.scrub.damagedFiles.length > 0) {
    made.push(figure('Damaged files', String(all.scrub.damagedFiles.length), 'see cellar verify'))
  }
  const up = 'up ' + span(state.uptimeSeconds) + ', process ' + state.process.pid
  made.push(figure('Memory', size(state.process.rss), up))
  element('figures').replaceChildren(...made)
}

function drawJobs(jobs) {
  drawTable('jobs', jobs, {
    job: ({ kind }) => kind,
    family: ({ table, family }) => table + ':' + family,
    progress: ({ bytesDone, bytesTotal }) => {
      const bar = document.createElement('progress')
      bar.max = Math.max(1, bytesTotal)
      bar.value = bytesDone
      bar.ariaLabel = size(bytesDone) + ' of ' + size(bytesTotal)
      return bar
    },
    size: ({ bytesTotal }) => number(size(bytesTotal)),
    runs: ({ milliseconds }) => number(time(milliseconds * 1000)),
  })
}

function drawTables(tables) {
  const families = Object.entries(tables).flatMap(([table, { families }]) => {
    return Object.entries(families).map(([family, each]) => ({ table, family, ...each }))
  })
  const last = (kind) => (each) => {
    const timed = each.latencies[kind]
    return number(timed ? time(timed.p50Microseconds) + ' / ' + time(timed.p99Microseconds) : '–')
  }
  drawTable('tables', families, {
    family: ({ table, family }) => table + ':' + family,
    size: (each) => number(size(each.fileBytes + each.valueFileBytes)),
    files: ({ files, valueFiles }) => number(files + (valueFiles ? ' + ' + valueFiles : '')),
    entries: ({ entries }) => number(whole(entries)),
    memtable: ({ memtableBytes }) => number(size(memtableBytes)),
    runs: ({ runs }) => number(String(runs)),
    levels: ({ levels }) => levelsOf(levels),
    'get, p50 / p99': last('get'),
    'put, p50 / p99': last('put'),
  })
}

/** A bar for each level, level 0 first. */
function levelsOf(levels) {
  const made = make('span', undefined, 'levels')
  const most = Math.max(1, ...levels.map(({ fileBytes }) => fileBytes))
  const text = levels.map(({ files, fileBytes }, level) => {
    const bar = document.createElement('i')
    bar.style.height = (100 * fileBytes) / most + '%'
    made.append(bar)
    return 'level ' + level + ': ' + files + ' files, ' + size(fileBytes)
  })
  made.title = text.join('\n')
  made.role = 'img'
  made.ariaLabel = made.title
  return made
}

/** Draws rows under the names of their columns, or says that there are none. */
function drawTable(id, rows, columns) {
  if (rows.length === 0) {
    element(id).replaceChildren(make('p', 'none', 'none'))
    return
  }
  const names = Object.keys(columns)
  const head = make('tr')
  head.append(...names.map((name) => make('th', name)))
  const table = make('table')
  table.append(make('thead', head))
  const body = make('tbody')
  for (const row of rows) {
    const line = make('tr')
    for (const name of names) {
      const content = columns[name](row)
      const cell = make('td', content)
      if (content instanceof Node && content.className === 'number') cell.className = 'number'
      cell.dataset.name = name
      line.append(cell)
    }
    body.append(line)
  }
  table.append(body)
  for (const [at, cell] of [...body.firstChild.children].entries()) {
    if (cell.className === 'number') head.children[at].className = 'number'
  }
  element(id).replaceChildren(table)
}

element('place').addEventListener('submit', (event) => {
  event.preventDefault()
  void show()
})
setInterval(() => {
  if (element('live').checked && before !== undefined && !document.hidden) void show()
}, everyMilliseconds)
void show()
