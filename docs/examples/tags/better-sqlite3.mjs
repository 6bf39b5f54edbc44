import Database from 'better-sqlite3'

const db = new Database('./data.db')
db.exec(`
  CREATE TABLE IF NOT EXISTS articles (id TEXT PRIMARY KEY, title TEXT);
  CREATE TABLE IF NOT EXISTS tags (
    tag TEXT, article TEXT REFERENCES articles ON DELETE CASCADE, PRIMARY KEY (tag, article)
  ) WITHOUT ROWID;
`)
const insert = db.prepare('INSERT INTO articles VALUES (?, ?)')
const remove = db.prepare('DELETE FROM articles WHERE id = ?')
const insertTag = db.prepare('INSERT INTO tags VALUES (?, ?)')
const removeTags = db.prepare('DELETE FROM tags WHERE article = ?')
const titles = db.prepare(`
  SELECT title FROM articles JOIN tags ON article = id
  WHERE tag IN (SELECT value FROM json_each(?)) GROUP BY id HAVING count(*) = ? ORDER BY id
`)
const suggest = db.prepare("SELECT DISTINCT tag FROM tags WHERE tag GLOB ? || '*' ORDER BY tag")
const count = db.prepare('SELECT count(*) FROM tags WHERE tag = ?')

const setTags = db.transaction((id, tags) => {
  removeTags.run(id)
  for (const tag of tags) insertTag.run(tag, id)
})
const add = db.transaction((id, title, tags) => {
  insert.run(id, title)
  setTags(id, tags)
})
const search = (...tags) => titles.pluck().all(JSON.stringify(tags), tags.length).join()

add('a1', 'Trees', ['data', 'storage'])
add('a2', 'Logs', ['data', 'storage', 'streams'])
add('a3', 'Dates', ['dates'])
add('a4', 'Cooking', ['food', 'dates'])
console.log(search('data'))
console.log(search('storage', 'streams'))
console.log(suggest.pluck().all('da').join())
console.log(count.pluck().get('dates'))
setTags('a1', ['food'])
remove.run('a4')
console.log(search('data'), search('food'), suggest.pluck().all('f').join())
db.close()
