"""SHA-256 of the known files, by path under the data folder."""

__all__ = ["SHA256"]

SHA256 = {
    "20newsgroups/20news_bydate.jsonl.gz": (
        "9197899151e5f51332a155147fa5223af794c80b2dfef36984cec4730e10ee94"
    ),
    "landmine/landmine.npz": (
        "4ce8c9890f1bb6631d27d18d429e9acd1363b17fa86da14a0a652e93b079a36a"
    ),
    "mnist/mnist.npz": (
        "f7046e3d577abe5172f02fafa723bd06806bcd5bde59d377083860771be0a821"
    ),
    "nips2003/arcene.npz": (
        "73fe1fe31ab2cf9b896b74c1d1a1afbb73fa83b2d0416f08ed6641fac4c61fa9"
    ),
    "nips2003/dexter_train.npz": (
        "fdf11cad847184c1691a42f89b8b5db928661c8d0af64197caa4ff00606b93a5"
    ),
    "nips2003/dorothea.npz": (
        "388c439dc6fbf50f3c56a0c901e69f2284620809badec9919cc4948786bb9554"
    ),
    "nips2003/madelon.npz": (
        "8d63bf020431eeef972110a4676d7c8599343a17e79138a2b75c258785751531"
    ),
    "ocr_letters/ocr_letters.npz": (
        "bf766733d39dcb2aa99c7b6a9a9f92f289b14550d006cd1ea382a2c09e40d52c"
    ),
    "reuters21578/reuters21578.jsonl.gz": (
        "06ae98c972e1fa4f603af40b1df55611c41d8e73009bf4b8c37704fda20999d8"
    ),
    "school/school.npz": (
        "ae3f73adadcf850452c825dd9f3e0e5753c1d043faa58d77fe002d1e9e176fb1"
    ),
    "sentiment/processed_acl_labelled_df2.npz": (
        "dc6e6ec15fc5f6c3ca07287f79e84a4eccb3d4f27c391b2f86ed36d2828e3ec2"
    ),
    "sentiment/processed_acl_vocab_df2.txt.gz": (
        "3da25b0be22bac38678485c338259598cf42b0a7ca16eec5c0809db296329dbe"
    ),
    "sentiment/sentiment_5000.npz": (
        "aa2ea13e5d883152b3c94e3fc9dcdbd78a9b9247ec8365112229133ef64eacc7"
    ),
    "sentiment/sorted_data_acl_labelled.jsonl.gz": (
        "a011b9073c13913ea0d8790a5bfde2aa1c9f396e3bd1164b555c722cadf71375"
    ),
    "uci/abalone.csv": (
        "a2daaed9c48ef860360f6438a224a2fde2576f1ebcf4f821ffe23645c229b23e"
    ),
    "uci/auto_mpg.csv": (
        "998731a41b824206169dcf84b3a91048bc8d5b833f04b6935686e91664480021"
    ),
    "uci/boston_housing.csv": (
        "d0a8dba1d66346fb31288ad7f629f78c7a9709e5d8a2b0eff718aa352bad1b48"
    ),
    "uci/breast_cancer_ljubljana.csv": (
        "1053a2d6082d11b45cd3470390ebb6431d5e0ca82041c779caa19c34a4033cd9"
    ),
    "uci/breast_cancer_wisconsin.csv": (
        "de948763c5d88824c760d93541e992b6062001d729dd46caa4d0360222d0c68f"
    ),
    "uci/cmc.csv": "e944dd136545920a8e64009f25fb626e7b7c747e17bcee3d39176982a251ecec",
    "uci/heart_statlog.csv": (
        "d7863405480643aaeafe6cd979c670a8f8d773848bb7dcfeb91ccc4b7a3b400d"
    ),
    "uci/hepatitis.csv": (
        "a07a1dafb1e90503dea3f9ac865510ec9527f006446eb8473eca761a1d45c065"
    ),
    "uci/solar_flare1.csv": (
        "9cda02f0dbeccd8c80afc16310bea64cfca497287f362c5c73f794bbc9f4e6bc"
    ),
    "uci/solar_flare2.csv": (
        "94a79f43f85f1eb8ff080ed13382528977d5db85846ad38f1cd02d411d24f2aa"
    ),
    "uci/wine_quality_red.csv": (
        "7d246d4b4b648f536ad563e90c936b3ce80b874fb8d6d2a24586f91f0daf7176"
    ),
    "uci/wine_quality_white.csv": (
        "91e7afe85ee4f6ffb59934a0db693dd5590243b7a4bea3b2b25ad0e760103caa"
    ),
    "usps/usps.npz": "1da811d5c763cb0ae4c13bdbc203a33f1946527ef1af0a4384c75c931b1f5654",
    "webkb/webkb_raw.jsonl.gz": (
        "464eac8e8b0fec8689ac34bf74ca5807b08095b985777a45bcf345482486f673"
    ),
}
