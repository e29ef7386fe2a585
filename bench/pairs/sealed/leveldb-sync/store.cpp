#include <cstdlib>
#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <string>

static void store(leveldb::DB *db, int from, int to) {
	leveldb::WriteBatch batch;
	for (int number = from; number < to; number++)
		batch.Put("key " + std::to_string(number), std::string(100, 'v'));
	leveldb::WriteOptions options;
	options.sync = true;
	if (!db->Write(options, &batch).ok())
		exit(1);
}

int main(int, char **arguments) {
	int together = atoi(arguments[1]);
	leveldb::DB *db;
	leveldb::Options options;
	options.create_if_missing = true;
	if (!leveldb::DB::Open(options, "rows", &db).ok())
		return 1;
	for (int number = 0; number < 6000; number += together)
		store(db, number, number + together);
	delete db;
}
