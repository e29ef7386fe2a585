#include <curl/curl.h>

static size_t drop(char *data, size_t size, size_t count, void *user)
{
	(void)data;
	(void)user;
	return size * count;
}

static int fetch(CURL *handle)
{
	curl_easy_setopt(handle, CURLOPT_URL, "http://127.0.0.1:18500/");
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, drop);
	return curl_easy_perform(handle) != CURLE_OK;
}

int main(int count, char **arguments)
{
	(void)arguments;
	curl_global_init(CURL_GLOBAL_ALL);
	CURL *kept = curl_easy_init();
	for (int number = 0; number < 8000; number++) {
		CURL *handle = count > 1 ? kept : curl_easy_init();
		if (fetch(handle))
			return 1;
		if (handle != kept)
			curl_easy_cleanup(handle);
	}
	curl_easy_cleanup(kept);
	return 0;
}
